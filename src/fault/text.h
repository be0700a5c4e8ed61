// The report as text for people, and as JSON for programs: the same facts; times in nanoseconds.
#pragma once

#include <string>
#include <vector>

#include "fault/report.h"

namespace sonde::fault {

struct TextOptions {
  bool all = false;  // every wave with its registers, not only one per place
};

std::string text_of(const FaultReport& report, const TextOptions& options);
std::string json_of(const FaultReport& report);

// Stored reports of several processes, one file each, and what follows from all ranks together.
struct KeptReport {
  std::string file;
  int64_t pid = 0;
  std::string title, cause;
};
std::string joined_text_of(const std::vector<KeptReport>& reports,
                           const std::vector<CollectiveWait>& waits);
std::string joined_json_of(const std::vector<KeptReport>& reports,
                           const std::vector<CollectiveWait>& waits);

// Wraps lines wider than `width` columns between words, and indents the rest; what has no gap stays
// whole. Without a width, or below 48, the text is unchanged.
std::string fitted(const std::string& text, size_t width);
// The same for the terminal at `fd`; unchanged if it is not a terminal.
std::string fitted_to_terminal(const std::string& text, int fd);

// In the format of AMD's debug agent (agent_text.cpp): what stopped, and each wave.
std::string agent_text_of(const FaultReport& report, const TextOptions& options);

}  // namespace sonde::fault
