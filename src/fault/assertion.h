// The text of a failed assert() in a kernel, found in the memory of the process: HIP's device code
// sent it to the host for printing. Used by compose.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "fault/live.h"

namespace sonde::fault {

// "scale.hip:12: void scale(float*): `i < n' failed"; "" if there is none. Requires that the
// process is held: its memory must not change.
std::string find_assertion(const LiveProcess& process);

// The same for a piece of memory.
std::string assertion_in(std::span<const char> memory);

}  // namespace sonde::fault
