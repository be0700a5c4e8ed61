// The layout of a CPython from 3.14 on, which describes itself: at the beginning of _PyRuntime are
// the offsets that debuggers need, as 64-bit words in an order that is fixed for each version.
#pragma once

#include <stdint.h>

#include "backends/cpu/python_layout.h"

namespace sonde::cpu {

constexpr uint32_t kOffsetWords = 81;  // as many as are read

// False if `words`, what _PyRuntime begins with, is not of a version that is known, is of a build
// without the GIL, or makes no sense.
bool layout_of_offsets(const uint64_t* words, uint32_t version, PythonLayout& layout);

}  // namespace sonde::cpu
