// Trace: what an analysis reads. Columns of operations and API calls, loaded from any .rpd or from
// another tool's file, and only the columns that were asked for. Names are interned: equal text has
// one index, whatever ids the file uses. Rows outside the wanted window, GPU, rank or names are not
// in it, and times are clipped to the window; what was left out or was wrong is counted.
//
// Both tables are sorted by start, so that a sweep over them is a loop. The order does not depend
// on that of the file, except for calls of one thread that are equal in start, end and kind. A
// Trace is not changed after load(). Cost: 37 bytes an operation plus the optional columns, 24
// bytes a call.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/op_class.h"
#include "store/reader.h"
#include "trace/category.h"
#include "trace/intervals.h"
#include "trace/name_filter.h"
#include "trace/samples.h"

namespace sonde::trace {

using NameId = uint32_t;  // index into Trace::names
using Row = int32_t;      // of an operation or call; kNone = there is none
constexpr Row kNone = -1;
constexpr int64_t kNoStream = -1;

using store::moves_memory;
using store::OpClass;

// Launch geometry, interned; 0 where unknown.
struct LaunchShape {
  int64_t grid[3] = {0, 0, 0};
  int64_t group[3] = {0, 0, 0};
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

// Where the operations of one GPU are ordered.
struct Queue {
  int64_t gpu = 0;
  int64_t queue = 0;  // the file's number
  friend auto operator<=>(const Queue&, const Queue&) = default;
};

struct Process {
  int64_t pid = 0;
  std::optional<int64_t> rank;
  friend auto operator<=>(const Process&, const Process&) = default;
};

// In a merged file, which of the files a process or GPU comes from: each has a range of numbers, as
// in RPD's views napi and nop.
constexpr int64_t file_of(int64_t pid) { return pid < 0 ? 0 : pid / 10'000'000; }
constexpr int64_t first_gpu_of_file(int64_t file) { return 1000 * file; }

struct Thread {
  int32_t process = kNone;  // index into Trace::processes
  int64_t tid = 0;
  friend auto operator<=>(const Thread&, const Thread&) = default;
};

struct Ops {  // sorted by start, end, GPU, queue, name, type
  std::vector<int64_t> start_ns, end_ns;
  std::vector<int64_t> gpu;
  std::vector<uint32_t> queue;  // index into Trace::queues
  std::vector<NameId> name;     // the kernel's; the id of "" for ops without one
  std::vector<NameId> type;
  std::vector<Category> category;  // what the breakdown counts it as
  // Only if asked for:
  std::vector<int64_t> id;       // rocpd_op.id
  std::vector<int64_t> bytes;    // -1 = unknown
  std::vector<uint32_t> shape;   // index into Trace::shapes; 0 = unknown
  std::vector<Row> api;          // the launching call; kNone: before the recording, or not known
  std::vector<int32_t> process;  // index into Trace::processes; kNone = not known
  size_t size() const { return start_ns.size(); }
};

struct Apis {  // sorted by start, then the longest first, then by kind: parents come first
  std::vector<int64_t> start_ns, end_ns;
  std::vector<NameId> name;
  std::vector<NameId> domain;  // as recorded, or told from the name (store/api_domain.h)
  // Only if asked for:
  std::vector<ApiKind> kind;
  std::vector<uint32_t> thread;  // index into Trace::threads
  std::vector<NameId> label;     // the name, or the text of a marker that RPD calls UserMarker
  std::vector<uint32_t> args;    // index into Trace::texts; 0 = none, or of a kind not asked for
  // The stream that a call launches into, as the program names it; kNoStream where the file does
  // not say. Empty if it says of none.
  std::vector<int64_t> stream;
  std::vector<uint8_t> blocks;  // with `stream`: 1 if the call returned after what it launched
  std::vector<uint8_t> between_gpus;  // 1 if the call copied from one GPU to another; may be empty
  // The innermost node of Trace::stacks where a call that launched work was made, or kNone. Empty
  // if the file has no such stacks.
  std::vector<int32_t> stack;
  size_t size() const { return start_ns.size(); }
};

// Readings of a sensor of a GPU: clock, power, temperature.
struct Monitor {
  struct Reading {
    Interval time;
    double value = 0;
  };
  std::string what;  // "sclk"
  int64_t gpu = 0;
  std::vector<Reading> readings;  // by start
};

// The time of all threads of the recorded processes within the window: on a CPU, and ready to run
// but without a CPU.
struct CpuTime {
  int64_t used_ns = 0, waited_ns = 0;
};

// Values of hardware counters; several of one name belong to an operation where its parts were
// counted apart. In the order of the file.
struct OpCounters {
  std::vector<Row> op;
  std::vector<NameId> name;
  std::vector<double> value;
  bool on_softgpu = false;  // of a software GPU, as far as the file says
  size_t size() const { return op.size(); }
};

struct Device {
  int64_t gpu = 0;            // as in Ops::gpu
  std::string name;           // "" if the file does not say
  int64_t compute_units = 0;  // 0: it does not say
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
  bool op_counters = false;  // Trace::op_counters
  bool devices = false;      // Trace::devices
  bool apis = false;
  bool nesting = false;        // kind, thread and label of calls: what steps.h and op_tree.h read
  bool links = false;          // api and process of operations; implies apis and nesting
  bool streams = false;        // of calls; implies links
  bool samples = false;        // Trace::samples, blocked and stacks
  bool launch_stacks = false;  // of calls, and Trace::stacks; implies links
  bool monitors = false;       // Trace::monitors
  bool program = false;        // Trace::program
  bool cpu_time = false;       // Trace::cpu_time
  bool whole = false;          // operations keep their whole times, for delays between events
  // The answer says why GPUs did nothing, or operations waited, so that these cannot be chosen by
  // name: the time of the others would count as nothing.
  bool explains_idle = false;
  bool all_apis = false;  // the window is for operations only: who launched them may be before it
  // Arguments of calls of these kinds: a sum of bit_of(ApiKind). Those of kMemory take in calls of
  // a runtime that allocate and free.
  uint32_t args_of = 0;
  // Only calls of those kinds whose name this accepts; nullptr: all.
  bool (*args_named)(std::string_view name) = nullptr;
  bool wants_args(ApiKind kind, std::string_view name) const {
    const auto wants = [&](ApiKind of) { return (args_of & bit_of(of)) != 0; };
    if (wants(ApiKind::kMemory) && kind == ApiKind::kRuntime && is_memory_call(name)) return true;
    return wants(kind) && (args_named == nullptr || args_named(name));
  }
  Window window;
  std::optional<int64_t> gpu;
  std::optional<int64_t> rank;           // operations and calls of it; needs links
  const NameFilter* op_names = nullptr;  // of label()
  const NameFilter* api_names = nullptr;
};

// What both need, so that a trace is loaded once for several analyses.
Request united(const Request& a, const Request& b);

struct Trace {
  std::string path;
  std::vector<std::string> names;
  std::vector<OpClass> class_of_type;  // by NameId of a type
  NameId empty_name = 0;               // of ""
  Ops ops;
  Apis apis;
  OpCounters op_counters;          // if asked for
  std::vector<Device> devices;     // if asked for; one for each GPU that the file describes
  std::vector<Queue> queues;       // sorted
  std::vector<Process> processes;  // those that made calls or were sampled
  std::vector<Thread> threads;
  std::vector<LaunchShape> shapes = {LaunchShape()};
  Samples samples;
  Blocked blocked;
  CallStacks stacks;  // of both, and of calls
  std::vector<Monitor> monitors;
  std::optional<CpuTime> cpu_time;  // nothing if the recorder's kernel did not count the waits
  std::vector<std::string> texts;   // of arguments; the first is ""
  Changed changed;
  std::optional<Interval> window;  // Window::extent
  std::optional<int64_t> gpu;      // Request::gpu
  // If asked for: the wall time of what was recorded, from the start of the first process to the
  // end of the last, or where the file does not say so from the first start to the last end of all
  // its operations and calls. Cut to the window.
  std::optional<Interval> program;
  // What --from counts from: the first start of all rows of the file, also of those left out. Known
  // if both operations and calls were asked for.
  int64_t origin_ns = 0;
  std::vector<std::string> warnings;  // drops, an unfinished recording, bad rows

  // What an operation is called: its kernel's name, or its type when it has none.
  NameId label(size_t op) const { return ops.name[op] == empty_name ? ops.type[op] : ops.name[op]; }
  OpClass class_of(size_t op) const {
    return store::class_of_op(class_of_type[ops.type[op]], ops.name[op] != empty_name);
  }
  // Apis::stack of a call, or kNone.
  int32_t stack_of(Row api) const {
    return api == kNone || apis.stack.empty() ? kNone : apis.stack[static_cast<size_t>(api)];
  }
  int64_t op_ns(size_t op) const { return ops.end_ns[op] - ops.start_ns[op]; }
  int64_t api_ns(size_t api) const { return apis.end_ns[api] - apis.start_ns[api]; }
  std::optional<int64_t> rank_of_op(size_t op) const {
    const int32_t process = ops.process.empty() ? kNone : ops.process[op];
    return process == kNone ? std::nullopt : processes[static_cast<size_t>(process)].rank;
  }
};

Result<Trace> load(store::Reader& reader, const Request& request);

// From the first start to the last end of all operations and calls, or where there are none from
// the first sample to the last; nullopt for an empty trace.
Result<std::optional<Interval>> span_of(store::Reader& reader);

// What every report must say about this file: drops by source, errors of the recorder, a recording
// that was not finished.
Result<std::vector<std::string>> loss_warnings(store::Reader& reader);

}  // namespace sonde::trace
