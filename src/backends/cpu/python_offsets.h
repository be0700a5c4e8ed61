// The layout of a CPython from 3.14 on, which describes itself: _PyRuntime begins with the offsets
// that debuggers need, as 64-bit words in an order that is fixed for each version.
#pragma once

#include <stdint.h>

#include "backends/cpu/python_layout.h"

namespace sonde::cpu {

constexpr uint32_t kOffsetWords = 81;  // the words that are read

// `words` is the beginning of _PyRuntime. False if the version is unknown, the build has no GIL, or
// the offsets are inconsistent.
bool layout_of_offsets(const uint64_t* words, uint32_t version, PythonLayout& layout);

}  // namespace sonde::cpu
