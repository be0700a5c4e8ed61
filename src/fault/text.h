// The report as text for people, and as JSON for programs: the same facts, times in nanoseconds.
#pragma once

#include <string>

#include "fault/report.h"

namespace sonde::fault {

struct TextOptions {
  bool all = false;  // every wave with its registers, not only one for each place
};

std::string text_of(const FaultReport& report, const TextOptions& options);
std::string json_of(const FaultReport& report);

// As AMD's debug agent prints it (agent_text.cpp): what stopped, and each wave.
std::string agent_text_of(const FaultReport& report, const TextOptions& options);

}  // namespace sonde::fault
