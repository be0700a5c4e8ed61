// What a wave that stopped at an aperture violation was about to access, from its instruction and
// registers. Used by compose.cpp and cause.cpp.
#pragma once

#include <optional>
#include <string>

#include "fault/code.h"
#include "fault/report.h"

namespace sonde::fault {

// `private_bytes`: per lane, from the dispatch. Nothing if no lane violated anything.
std::optional<Violation> find_violation(const Wave& wave, uint32_t private_bytes,
                                        CodeObjects& code);

// The first violation among waves that stopped.
std::optional<Violation> first_violation(const std::vector<WaveGroup>& waves,
                                         uint32_t private_bytes, CodeObjects& code);

// "lane 3 uses 4 bytes at 0x7f01, which is not a multiple of 4".
std::string violation_text(const Violation& violation);

}  // namespace sonde::fault
