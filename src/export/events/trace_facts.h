// What else a file knows of a trace, beyond its events: the time of day, the facts that an imported
// file brought along, the arrows of other tools. Used by the Chrome JSON exporter.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "export/events/events.h"

namespace sonde::exporting {

// One end of an arrow that is not the one from a call to its operation.
struct FlowEnd {
  std::string id;
  uint32_t category = kNone, name = kNone;  // indices into Events::names
  char phase = 's';
  int64_t pid = 0, tid = 0;
  int64_t time_ns = 0;
};

struct TraceFacts {
  // The time of day when the trace's clock showed 0, if a clock reading shows it.
  std::optional<int64_t> realtime_at_0_ns;
  std::vector<std::pair<std::string, std::string>> notes;  // of the trace; keys are unique
  std::vector<FlowEnd> flows;                              // in the window
  std::unordered_set<int64_t> unfinished;                  // calls that their file does not end
};

Result<TraceFacts> load_facts(store::Reader& reader, const Options& options, const Events& events);

}  // namespace sonde::exporting
