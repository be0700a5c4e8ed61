// The stack bounds of the calling thread, for tests and measurements of the unwinder.
#pragma once

#include <pthread.h>

#include "backends/cpu/unwind.h"

namespace sonde::cpu {

inline StackBounds bounds_here() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<uint64_t>(low), reinterpret_cast<uint64_t>(low) + bytes};
}

}  // namespace sonde::cpu
