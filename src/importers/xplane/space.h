// XSpace of JAX and XLA (xplane.pb) as plain structs, decoded one plane at a time. Used by the
// xplane importer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/sink/tally.h"

namespace sonde::importers {

struct XEventMetadata {
  std::string_view name, display_name;
  std::vector<std::string_view> stats;
};

// What comes before the events of a plane in meaning, if not in the file.
struct XPlane {
  std::string name;
  std::vector<std::string_view> lines, stats;  // messages
  std::unordered_map<int64_t, XEventMetadata> events;
  std::unordered_map<int64_t, std::string_view> stat_names;
};

struct XLine {
  int64_t id = 0;
  std::string name;
  int64_t timestamp_ns = 0;
  std::vector<std::string_view> events;
};

struct XEvent {
  int64_t metadata_id = 0, offset_ps = 0, duration_ps = 0;
  bool is_count = false;  // it says only how often something happened
  std::vector<std::string_view> stats;
};

struct XStat {
  std::string_view name;
  std::string text;  // of the value, as it stands
  bool quoted = false;
  int64_t number = 0;  // of integers
};

// All views are of `message`. A message that breaks off gives what it has and counts in the tally.
XPlane read_xplane(std::string_view message, std::string_view place, Tally& tally);
XLine read_xline(std::string_view message, std::string_view place, Tally& tally);
XEvent read_xevent(std::string_view message, std::string_view place, Tally& tally);
XStat read_xstat(std::string_view message, const XPlane& plane);

// The planes and the host names of a whole file.
struct XSpace {
  std::vector<std::string_view> planes;
  std::string host;
  std::vector<std::string> problems;  // errors and warnings of the profiler
};
XSpace read_xspace(std::string_view file, std::string_view place, Tally& tally);

}  // namespace sonde::importers
