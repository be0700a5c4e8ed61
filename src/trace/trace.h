// Trace: what an analysis reads. Columns of operations and API calls, loaded from any .rpd file,
// and only the columns that were asked for. Names are interned: equal text has one index, whatever
// ids the file uses. Rows outside the wanted window, GPU or names are not in it, and times are
// clipped to the window; what was left out or was wrong is counted.
//
// The caller provides a store::Reader. Cost: 28 bytes an operation plus the optional columns, and
// about 0.2 us of CPU a row. A Trace is not changed after load().
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/op_class.h"
#include "store/reader.h"
#include "trace/intervals.h"
#include "trace/name_filter.h"

namespace sonde::trace {

using NameId = uint32_t;  // index into Trace::names

using store::moves_memory;
using store::OpClass;

// Launch geometry, interned; 0 where unknown.
struct LaunchShape {
  int64_t grid[3] = {0, 0, 0};
  int64_t group[3] = {0, 0, 0};
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

struct Ops {
  std::vector<int64_t> start_ns, end_ns;
  std::vector<int32_t> gpu;
  std::vector<NameId> name;  // the kernel's; the id of "" for ops without one
  std::vector<NameId> type;
  // Only if asked for:
  std::vector<int64_t> id;      // rocpd_op.id
  std::vector<int64_t> bytes;   // -1 = unknown
  std::vector<uint32_t> shape;  // index into Trace::shapes; 0 = unknown
  size_t size() const { return start_ns.size(); }
};

struct Apis {
  std::vector<int64_t> start_ns, end_ns;
  std::vector<NameId> name;
  std::vector<NameId> domain;  // as recorded, or told from the name (store/api_domain.h)
  size_t size() const { return start_ns.size(); }
};

// How many rows are not in the trace as they are in the file.
struct Changed {
  uint64_t bad_ops = 0;  // end before they start; taken as zero long
  uint64_t bad_apis = 0;
  uint64_t clipped_ops = 0;  // reach over an edge of the window; counted with the part inside
  uint64_t clipped_apis = 0;
};

// What --from and --to chose (window.h). The default chooses everything.
struct Window {
  // Rows that share time with it, or lie in it if they are zero long, are loaded.
  Interval select = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  // The same window where the trace has time: the whole that shares of time are of.
  std::optional<Interval> extent;
};

struct Request {
  bool ops = false;
  bool op_ids = false;
  bool op_bytes = false;
  bool op_shapes = false;
  bool apis = false;
  Window window;
  std::optional<int64_t> gpu;
  const NameFilter* op_names = nullptr;  // of label()
  const NameFilter* api_names = nullptr;
};

struct Trace {
  std::string path;
  std::vector<std::string> names;
  std::vector<OpClass> class_of_type;  // by NameId of a type
  NameId empty_name = 0;               // of ""
  Ops ops;
  Apis apis;
  std::vector<LaunchShape> shapes;
  Changed changed;
  std::optional<Interval> window;     // Window::extent
  std::vector<std::string> warnings;  // drops, an unfinished recording, bad rows

  // What an operation is called: its kernel's name, or its type when it has none.
  NameId label(size_t op) const { return ops.name[op] == empty_name ? ops.type[op] : ops.name[op]; }
  OpClass class_of(size_t op) const {
    return store::class_of_op(class_of_type[ops.type[op]], ops.name[op] != empty_name);
  }
  int64_t op_ns(size_t op) const { return ops.end_ns[op] - ops.start_ns[op]; }
  int64_t api_ns(size_t api) const { return apis.end_ns[api] - apis.start_ns[api]; }
};

Result<Trace> load(store::Reader& reader, const Request& request);

// From the first start to the last end of all operations and calls; nullopt for an empty trace.
Result<std::optional<Interval>> span_of(store::Reader& reader);

// What every report must say about this file: drops by source, errors of the recorder, a recording
// that was not finished.
Result<std::vector<std::string>> loss_warnings(store::Reader& reader);

}  // namespace sonde::trace
