// FileInfo: what an .rpd file is and holds, without its events. Read by `sonde info`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/reader.h"
#include "trace/intervals.h"

namespace sonde::trace {

struct ProcessInfo {
  int64_t pid = 0;
  std::optional<int64_t> rank, start_ns, end_ns;
  std::string command;  // "" = not known; of an imported trace the name that it has there
  std::string exit;
  int64_t threads = 0;
};

struct DeviceInfo {
  int64_t gpu_id = 0;
  std::string backend, name, vendor, kind;
  std::optional<int64_t> memory_bytes, compute_units;
};

struct CountInfo {
  std::string what;
  int64_t count = 0;
};

struct Diagnostic {
  std::string severity, source, text;
  int64_t count = 0;  // equal ones
};

// A GPU that failed (store/faults.h).
struct FaultInfo {
  int64_t pid = 0, gpu_id = -1;  // -1: none is known
  std::string kind, title, cause, kernel;
};

struct KeyValue {
  std::string key, value;
};

// A file that the .rpd was made of.
struct ImportedFrom {
  std::string path;
  std::string kind;     // name of the importer; "" = not known
  std::string summary;  // the importer's, of what it reads
};

struct FileInfo {
  std::string path;
  std::vector<ImportedFrom> imported;
  bool is_another_tools = false;            // the file is the trace of another tool itself
  std::vector<std::string> process_clocks;  // what the times of imported files count
  std::string flavour;                      // "v2a"
  bool made_by_sonde = false;
  int64_t file_bytes = 0;  // as it lies on disk
  std::optional<Interval> span;
  std::optional<int64_t> recorded_at_s;  // since 1970, of the first event
  std::vector<std::string> clocks;       // for which the file has snapshots
  std::vector<ProcessInfo> processes;
  std::vector<DeviceInfo> devices;
  int64_t gpus_with_metrics = 0;
  std::vector<CountInfo> counts;
  std::vector<Diagnostic> diagnostics;
  std::vector<FaultInfo> faults;
  std::vector<KeyValue> metadata;
  std::vector<KeyValue> environment;  // of the recording, secrets left out
  std::vector<std::string> warnings;
};

Result<FileInfo> file_info(store::Reader& reader);

}  // namespace sonde::trace
