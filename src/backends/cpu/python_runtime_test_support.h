// The runtime of the made-up interpreter (python_test.cpp): its description, then room for the
// state of the thread that started it.
#pragma once

#include <stdint.h>

#include "backends/cpu/python_offsets.h"

namespace sonde::cpu {

constexpr uint32_t kRuntimeWords = kOffsetWords + 64;

}  // namespace sonde::cpu

extern "C" __attribute__((visibility("default"))) uint64_t _PyRuntime[sonde::cpu::kRuntimeWords];
