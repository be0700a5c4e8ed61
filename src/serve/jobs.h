// What is done in a worker: everything that reads a trace again. A job is a text whose form both
// sides know. Private to src/serve.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/panel.h"

namespace sonde::serve {

struct JobText {
  std::string what;  // "panel", "joint", "findings", "steps", "align", "ranks", "layer", "counters"
  std::string name;  // of the analysis or layer
  std::vector<Source> sources;
  PanelOptions options;
  int64_t end_ns = 0;  // where the trace ends
};

std::string text_of(const JobText& job);
Result<std::string> do_job(std::string_view text);

}  // namespace sonde::serve
