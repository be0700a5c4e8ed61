// REAL(open): libc's own function behind one that this library replaces.
#pragma once

#include <dlfcn.h>

namespace softgpu {

template <typename Function>
Function* real_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace softgpu

#define REAL(name)                                                                   \
  ([]() -> auto& {                                                                   \
    static auto* const function = ::softgpu::real_function<decltype(::name)>(#name); \
    return *function;                                                                \
  }())
