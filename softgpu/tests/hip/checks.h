// What programs here share: a call of HIP that fails ends the program, and checks are counted.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline int checks = 0, failures = 0;

inline void require(hipError_t status, const char* what) {
  if (status == hipSuccess) return;
  std::printf("FAILED: %s: %s\n", what, hipGetErrorString(status));
  std::exit(1);
}
#define MUST(call) require((call), #call)

inline void expect(bool is_right, const char* what) {
  ++checks;
  if (is_right) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}

// The last line of output, and the exit status.
inline int report() {
  std::printf("{\"checks\": %d, \"failures\": %d}\n", checks, failures);
  return failures != 0;
}

template <class T>
struct OnDevice {
  T* p = nullptr;
  size_t count;
  explicit OnDevice(size_t n) : count(n) {
    MUST(hipMalloc(&p, std::max<size_t>(n * sizeof(T), 1)));
  }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    MUST(hipMemcpy(p, values.data(), count * sizeof(T), hipMemcpyHostToDevice));
  }
  ~OnDevice() { MUST(hipFree(p)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  std::vector<T> get(size_t n) const {
    std::vector<T> values(n);
    MUST(hipMemcpy(values.data(), p, n * sizeof(T), hipMemcpyDeviceToHost));
    return values;
  }
  std::vector<T> get() const { return get(count); }
};
