// An exporter writes one viewer's format from an opened .rpd. A new one is a file in export/ that
// defines `Exporter NAME_exporter()`; the build finds it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/reader.h"

namespace sonde::exporting {

// Slices that lie over the trace on lanes of their own, one after the other: where a critical path
// leads. Times as in the trace.
struct OverlaySlice {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t lane = 0;  // index into Overlay::lanes
  std::string name;
  std::vector<std::pair<std::string, std::string>> facts;
};

struct Overlay {
  std::string title;
  std::vector<std::string> lanes;
  std::vector<OverlaySlice> slices;  // by time
};

// Names and values.
using Facts = std::vector<std::pair<std::string, std::string>>;

struct Options {
  // Events that overlap [from_ns, to_ns), CLOCK_MONOTONIC ns, are written.
  int64_t from_ns = std::numeric_limits<int64_t>::min();
  int64_t to_ns = std::numeric_limits<int64_t>::max();
  bool by_start = false;       // ... those that begin in it, instead
  bool arguments = true;       // the arguments of API calls
  bool array = false;          // Chrome JSON: the events alone
  bool track_events = false;   // .pftrace: for viewers that know no render stages
  std::optional<int64_t> gpu;  // operations of this GPU only; calls are all written
  Overlay overlay;             // Chrome JSON and .pftrace; others leave it out
  // What is known of a GPU that a driver calls so; a workload folder has it.
  std::function<Result<Facts>(std::string_view device)> gpu_facts;
  std::optional<int64_t> rank;  // what processes of this rank did, and their operations
};

// What was written, for the summary line and for tests.
struct Counts {
  uint64_t ops = 0, apis = 0, flows = 0, counters = 0;
  uint64_t samples = 0;  // call stacks
  uint64_t skipped = 0;  // events the format cannot say
};

struct Exporter {
  std::string name;                     // "perfetto": value of --format
  std::string summary;                  // one line for --help
  std::vector<std::string> extensions;  // {".pftrace"}: chosen by the output's name
  Result<Counts> (*write)(store::Reader& reader, const std::string& path, const Options& options);
  bool is_folder = false;  // the output is a folder of files
};

// Generated from the files of export/.
std::span<const Exporter> all_exporters();

}  // namespace sonde::exporting
