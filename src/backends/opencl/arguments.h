// The functions of functions.inc as the compiler sees them, and the arguments of their calls by the
// names that they have there. Used by the wrappers.
#pragma once

#include <tuple>

#include "backends/opencl/layer.h"

namespace sonde::opencl {

struct FunctionInfo {
  char kind;
  const char* category;
  const char* name;
  const char* arguments;
};

inline constexpr FunctionInfo kFunctions[] = {
#define X(kind, category, name, arguments) {#kind[0], #category, #name, arguments},
#include "backends/opencl/functions.inc"
#undef X
};

constexpr const FunctionInfo& info(Function f) { return kFunctions[static_cast<unsigned>(f)]; }

// The format letter of argument `index`, 0 beyond the last.
constexpr char format_of(const char* arguments, size_t index) {
  for (; *arguments != '\0'; ++arguments) {
    if (*arguments == ':' && index-- == 0) return arguments[1];
  }
  return '\0';
}

// The index of the argument of this name.
constexpr size_t kNoArgument = ~size_t{0};
constexpr size_t index_of(Function f, const char* name) {
  const char* at = info(f).arguments;
  for (size_t index = 0; *at != '\0'; ++index) {
    const char* letter = name;
    while (*letter != '\0' && *at == *letter) ++at, ++letter;
    if (*letter == '\0' && *at == ':') return index;
    while (*at != '\0' && *at++ != ' ') {
    }
  }
  return kNoArgument;
}

// One of the arguments of a call; nullptr for kNoArgument.
template <size_t index, typename... A>
auto argument(const A&... all) {
  if constexpr (index == kNoArgument) {
    return nullptr;
  } else {
    return std::get<index>(std::tie(all...));
  }
}

}  // namespace sonde::opencl
