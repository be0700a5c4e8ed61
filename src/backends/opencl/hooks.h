// Declares, from functions.inc, what each kind of function needs besides its wrapper, and maps a
// Function to it: kHook<F> (H and L), kAfter<F> (P), kDescribe<F> (E). Used by wrap.h, and by the
// files that define the hooks to have their types checked.
#pragma once

#include "backends/opencl/layer.h"

namespace sonde::opencl {

template <typename Pointer>
struct Types;
template <typename R, typename... A>
struct Types<R (*)(A...)> {
  using Hook = R(A...);
  using Legacy = R(A..., cl_event*);       // as the call, and gives the event of what it enqueued
  using After = void(R, A...);             // runs after the call was recorded, and when it was not
  using Describe = void(sonde_op*, A...);  // fills in what a successful enqueue launched
};

template <typename... A>
struct Types<void (*)(A...)> {
  using Hook = void(A...);
};

template <Function F>
inline constexpr auto kHook = nullptr;
template <Function F>
inline constexpr auto kAfter = nullptr;
template <Function F>
inline constexpr auto kDescribe = nullptr;

#define SONDE_DECLARE_G(name)
#define SONDE_DECLARE_H(name)             \
  Types<cl_api_##name>::Hook hook_##name; \
  template <>                             \
  inline constexpr auto kHook<Function::name> = &hook_##name;
#define SONDE_DECLARE_L(name)               \
  Types<cl_api_##name>::Legacy hook_##name; \
  template <>                               \
  inline constexpr auto kHook<Function::name> = &hook_##name;
#define SONDE_DECLARE_P(name)               \
  Types<cl_api_##name>::After after_##name; \
  template <>                               \
  inline constexpr auto kAfter<Function::name> = &after_##name;
#define SONDE_DECLARE_E(name)                     \
  Types<cl_api_##name>::Describe describe_##name; \
  template <>                                     \
  inline constexpr auto kDescribe<Function::name> = &describe_##name;
#define X(kind, category, name, arguments) SONDE_DECLARE_##kind(name)
#include "backends/opencl/functions.inc"
#undef X

}  // namespace sonde::opencl
