// What a wave that stopped at an aperture violation was about to do, from its instruction and its
// registers. Used by compose.cpp and cause.cpp.
#pragma once

#include <optional>
#include <string>

#include "fault/code.h"
#include "fault/report.h"

namespace sonde::fault {

// `private_bytes`: of a lane, as the dispatch has it. Nothing where no lane did anything wrong.
std::optional<Violation> find_violation(const Wave& wave, uint32_t private_bytes,
                                        CodeObjects& code);

// The first among those that stopped.
std::optional<Violation> first_violation(const std::vector<WaveGroup>& waves,
                                         uint32_t private_bytes, CodeObjects& code);

// "lane 3 uses 4 bytes at 0x7f01, which is no multiple of 4".
std::string violation_text(const Violation& violation);

}  // namespace sonde::fault
