// CHECK(CALL) ends a program with status 3 if a call of HIP fails.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

inline void check_call(hipError_t status, const char* call) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, hipGetErrorString(status));
  std::exit(3);
}
#define CHECK(call) check_call((call), #call)
