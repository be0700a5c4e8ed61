// Declares, from functions.inc, what each kind of function needs besides its wrapper, and maps a
// Function to it: kHook<F> (H and L), kAfter<F> (P), kDescribe<F> (E). Used by wrap.h, and by the
// files that define the hooks, so that their types are checked.
#pragma once

#include "backends/opencl/layer.h"

namespace sonde::opencl {

template <typename Pointer>
struct Types;
template <typename R, typename... A>
struct Types<R (*)(A...)> {
  using Hook = R(A...);
  // The call, which also returns the event of what it enqueued.
  using Legacy = R(A..., cl_event*);
  using After = void(R, A...);             // runs after the call, recorded or not
  using Describe = void(sonde_op*, A...);  // describes what a successful enqueue launched
};

template <typename... A>
struct Types<void (*)(A...)> {
  using Hook = void(A...);
};

// Newer headers lack names for these types.
template <auto Member>
struct MemberType;
template <typename T, T cl_icd_dispatch::*Member>
struct MemberType<Member> {
  using Type = T;
};
template <auto Member>
using FunctionType = typename MemberType<Member>::Type;

template <Function F>
inline constexpr auto kHook = nullptr;
template <Function F>
inline constexpr auto kAfter = nullptr;
template <Function F>
inline constexpr auto kDescribe = nullptr;

#define SONDE_DECLARE_G(name)
#define SONDE_DECLARE_M(name)
#define SONDE_DECLARE(name, type, function, place)            \
  Types<FunctionType<&cl_icd_dispatch::name>>::type function; \
  template <>                                                 \
  inline constexpr auto place<Function::name> = &function;
#define SONDE_DECLARE_H(name) SONDE_DECLARE(name, Hook, hook_##name, kHook)
#define SONDE_DECLARE_L(name) SONDE_DECLARE(name, Legacy, hook_##name, kHook)
#define SONDE_DECLARE_P(name) SONDE_DECLARE(name, After, after_##name, kAfter)
#define SONDE_DECLARE_E(name) SONDE_DECLARE(name, Describe, describe_##name, kDescribe)
#define X(kind, category, name, arguments) SONDE_DECLARE_##kind(name)
#include "backends/opencl/functions.inc"
#undef X

}  // namespace sonde::opencl
