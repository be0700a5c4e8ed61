// The text of an assert() that failed in a kernel, from the memory of the process: what HIP's
// device code sent to the host to be printed. Used by compose.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "fault/live.h"

namespace sonde::fault {

// "scale.hip:12: void scale(float*): `i < n' failed"; "" where there is none. Only a process that
// stays as it is can be read.
std::string find_assertion(const LiveProcess& process);

// The same in a piece of memory.
std::string assertion_in(std::span<const char> memory);

}  // namespace sonde::fault
