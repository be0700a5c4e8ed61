// The report as text for people, and as JSON for programs: the same facts, times in nanoseconds.
#pragma once

#include <string>
#include <vector>

#include "fault/report.h"

namespace sonde::fault {

struct TextOptions {
  bool all = false;  // every wave with its registers, not only one for each place
};

std::string text_of(const FaultReport& report, const TextOptions& options);
std::string json_of(const FaultReport& report);

// Reports of several processes that were kept, each in a file, and what their ranks know together.
struct KeptReport {
  std::string file;
  int64_t pid = 0;
  std::string title, cause;
};
std::string joined_text_of(const std::vector<KeptReport>& reports,
                           const std::vector<CollectiveWait>& waits);
std::string joined_json_of(const std::vector<KeptReport>& reports,
                           const std::vector<CollectiveWait>& waits);

// Lines of such a text that are wider than `width` columns, broken between words and indented; what
// has no gap stays whole. No width, or less than 48: the text as it is.
std::string fitted(const std::string& text, size_t width);
// The same for what is behind `fd`; as it is where that is no terminal.
std::string fitted_to_terminal(const std::string& text, int fd);

// As AMD's debug agent prints it (agent_text.cpp): what stopped, and each wave.
std::string agent_text_of(const FaultReport& report, const TextOptions& options);

}  // namespace sonde::fault
