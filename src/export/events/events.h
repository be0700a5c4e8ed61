// Events: what an exporter writes, read from an opened .rpd into columns. SQLite is asked for one
// table at a time and the tables are joined here, by index: an SQL join or ORDER BY costs several
// times more. About 50 bytes a row stay in memory, and the text of the API arguments.
//
// Guarantees: start_ns >= 0 and end_ns >= start_ns for every op and api (others are counted in
// `skipped`, and so are those that start at 0 in a recording, where 0 means that no time is known);
// every index is valid or kNone; a link's two ends both exist.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/events/text_table.h"
#include "export/exporter.h"
#include "store/op_class.h"

namespace sonde::exporting {

struct CallSamples;

constexpr uint32_t kNone = IdIndex::kNone;

using store::OpClass;

// Traces of other tools have pids of any kind, negative ones too.
constexpr int64_t kNoPid = std::numeric_limits<int64_t>::min();

// One queue of one GPU as one process sees it.
struct Queue {
  int64_t gpu_id = 0;
  int64_t process_id = -1;  // sonde_process.id, or -1
  int64_t queue_id = 0;
  int64_t pid = kNoPid;  // of the process
};

// A thread that made calls, or that has a sampled stack or a counter.
struct Thread {
  int64_t pid = 0, tid = 0;
  std::string name;
};

// One operating system process; the images of an exec are joined.
struct Process {
  int64_t pid = 0;
  int64_t image_start_ns = 0;
  int64_t rank = -1;
  std::string command, executable;
};

struct Device {
  int64_t gpu_id = 0;
  int64_t memory_bytes = -1, compute_units = -1;
  std::string backend, name, vendor, kind;
};

// How ops were launched. Thousands of ops share few of these.
struct Shape {
  int64_t items[3] = {-1, -1, -1};  // work items
  int64_t grid[3] = {-1, -1, -1};   // work groups
  int64_t group[3] = {-1, -1, -1};  // work items of a work group
  int64_t group_segment_bytes = -1, private_segment_bytes = -1;
  bool operator==(const Shape& other) const = default;
};

struct Op {
  int64_t start_ns, end_ns;
  int64_t bytes = -1;
  uint32_t name;   // index into names; the type's where the op has no name
  uint32_t type;   // index into names
  uint32_t queue;  // index into queues
  uint32_t shape = kNone;
  uint32_t first_link = kNone;
  uint32_t args = kNone;  // index into op_args
  int32_t status = 0;
  int64_t duration_ns() const { return end_ns - start_ns; }
};

// What few exporters say of an op.
struct OpExtra {
  int64_t queued_ns = -1, submitted_ns = -1;
  int64_t sequence = 0;
};

// A hardware counter's value for one op.
struct OpCounter {
  uint32_t op, name;
  double value;
};

// What the code of a kernel takes on a GPU; -1 = not known.
struct KernelCode {
  int64_t gpu_id = 0;
  std::string kernel;
  int64_t vgprs = -1, agprs = -1, sgprs = -1;
};

struct Api {
  int64_t start_ns, end_ns;
  int64_t id;
  uint32_t name;            // index into names
  uint32_t domain;          // index into names, or kNone
  uint32_t category;        // index into names, or kNone
  uint32_t args;            // index into args, or kNone
  uint32_t thread;          // index into threads
  uint32_t first_link = 0;  // links [first_link, next api's first_link)
  int64_t duration_ns() const { return end_ns - start_ns; }
};

// Sorted by api. The links of one op are chained.
struct Link {
  uint32_t api, op;
  uint32_t next_of_op = kNone;
};

struct Sample {
  int64_t time_ns;
  double value;
  uint32_t series;
  int64_t tid = 0;
};

// One counter: of a process, whose pid may be any number in a trace of another tool, or of the
// machine.
struct Series {
  int64_t pid = kNoPid;
  std::string name;
  bool of_machine() const { return pid == kNoPid; }
};

struct Events {
  TextTable names;                       // v_string
  TextTable args;                        // v_ustring; empty when arguments are not wanted
  TextTable op_args;                     // v_op_args; empty when they are not wanted
  std::vector<OpExtra> op_extras;        // by op, or empty when they are not wanted
  std::vector<OpCounter> op_counters;    // by op, or empty when they are not wanted
  std::vector<KernelCode> kernel_codes;  // likewise; by GPU and name, each once
  std::vector<OpClass> op_class;         // by index of names, for use as Op::type
  std::vector<bool> is_marker;  // by index of names: an api of this name shows its args as name

  std::vector<Queue> queues;
  std::vector<Thread> threads;
  std::vector<Process> processes;  // every pid of threads and series has one
  std::vector<Device> devices;     // every gpu_id of queues has one; ascending gpu_id
  std::vector<Shape> shapes;

  std::vector<Op> ops;
  std::vector<Api> apis;  // plus one sentinel at the end, not counted by api_count()
  std::vector<Link> links;
  std::vector<Series> series;
  std::vector<Sample> samples;
  uint64_t skipped = 0;
  int64_t first_ns = 0;  // the earliest time of all of them; 0 when there is nothing
  int imports = 0;       // files of other tools that the trace was made from

  // The call that launched it, or nullptr.
  const Api* launcher(const Op& op) const {
    return op.first_link == kNone ? nullptr : &apis[links[op.first_link].api];
  }
  // For each thread its calls by their begin, a call before those that it makes.
  std::vector<std::vector<uint32_t>> calls_by_thread() const;
  size_t api_count() const { return apis.empty() ? 0 : apis.size() - 1; }
  bool is_mark(const Api& api) const { return is_marker[api.name]; }
  OpClass class_of(const Op& op) const {
    return store::class_of_op(op_class[op.type], op.name != op.type);
  }
  // "opencl", "hip" ...: the file's domain, or what the name says where the file has none.
  std::string_view domain(const Api& api) const;
  // What a viewer writes on the slice.
  std::string_view title(const Api& api) const;
  std::string_view arguments(const Api& api) const;
  uint32_t device_of(const Queue& queue) const;  // index into devices
  const KernelCode& code_of(const Op& op) const;
};

// How much of operations is wanted beside names and times.
enum class OfOps {
  kUsual,
  kAll,         // the arguments that only imported files have, extras, counters and registers
  kL2Channels,  // and the counters of the L2 once more for each channel: "TCC_HIT[3]"
};

// The threads and processes that have nothing but sampled stacks come with `call_samples`.
Result<Events> load_events(store::Reader& reader, const Options& options,
                           OfOps of_ops = OfOps::kUsual, const CallSamples* call_samples = nullptr);

}  // namespace sonde::exporting
