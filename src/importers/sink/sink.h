// Sink: where an importer puts what it reads. Two kinds exist: StoreSink writes an .rpd with
// everything in it, and trace::ColumnSink keeps the columns that an analysis asked for.
//
// Texts are interned by name(). Handles of processes and ids of rows are given out by the sink and
// are not 0. A method that a sink has no use for does nothing. Views passed in are copied. One
// thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/op_class.h"

namespace sonde::importers {

using Name = int64_t;  // of Sink::name(); 0 = the empty text

// What the sink looks at; an importer may leave out the rest to save time.
struct Wants {
  bool ops = true;
  bool op_details = true;  // launch(), op_args
  bool apis = true;
  bool args = true;   // of calls and operations
  bool facts = true;  // of processes and threads: names, ranks
  bool devices = true;
  bool sensors = true;  // sample()
  bool others = true;   // queues, counters, notes ...; with it the devices too
};

// nullopt and an empty text mean "the file does not say"; a later description adds to an earlier.
struct ProcessFacts {
  std::optional<int64_t> ppid, rank;
  std::string_view executable, command, directory, host, exit;
  std::string_view clock;  // Clock::name
};

struct Device {
  int64_t process = 0;  // 0 = not of one process
  int64_t gpu = 0;
  std::string_view backend, name, vendor, kind, location;
  std::optional<int64_t> memory_bytes, compute_units, clock_mhz;
};

struct Queue {
  int64_t process = 0;
  int64_t gpu = 0, queue = 0;
  std::optional<int64_t> handle, context;
};

// A call on the CPU, or a marker: a range, or a moment if it is zero long.
struct Api {
  int64_t process = 0, tid = 0;
  int64_t start_ns = 0, end_ns = 0;
  Name name = 0;
  Name category = 0;  // what the file calls this kind of event
  Name domain = 0;    // "hip", "cuda", "torch", "roctx" ...; 0: follows from the function's name
  std::string_view args;
};

// Something a device did.
struct Op {
  int64_t gpu = 0, queue = 0;
  int64_t start_ns = 0, end_ns = 0;
  Name name = 0;  // of the kernel, or whatever the file calls it
  Name type = 0;  // "KernelExecution", "CopyHostToDevice", "FillBuffer" ... (store/op_class.h)
  std::string_view args;
  int64_t sequence = 0;
};

// The stream of a file that has 0 where it does not know one.
constexpr std::optional<uint64_t> stream_unless_0(int64_t number) {
  return number <= 0 ? std::nullopt : std::optional(static_cast<uint64_t>(number));
}

// What else is known of an operation. Negative = not known.
struct Launch {
  int64_t op = 0;       // of Sink::op()
  int64_t api = 0;      // of Sink::api(): the call that launched it; 0 = not known
  int64_t process = 0;  // 0 = not known
  Name name = 0;        // as in Op
  store::OpClass op_class = store::OpClass::kUnknown;
  int64_t queued_ns = -1, submitted_ns = -1;
  int64_t bytes = -1;
  int64_t grid[3] = {-1, -1, -1};   // work items
  int64_t group[3] = {-1, -1, -1};  // work items of a work group
  int64_t group_segment_bytes = -1, private_segment_bytes = -1;
  int64_t status = 0;
  // Handle, as the launching call saw it; 0 is the null stream. Nothing where the file does not
  // say.
  std::optional<uint64_t> stream;
};

// What the code of a kernel takes, once for each kernel and GPU. Negative = not known.
struct KernelCode {
  int64_t process = 0, gpu = 0;
  std::string_view kernel;
  int64_t vgprs = -1, agprs = -1, sgprs = -1;  // vector, accumulation, scalar registers
};

// A value that the program counted, at one moment.
struct Counter {
  int64_t process = 0, tid = 0;
  int64_t time_ns = 0;
  Name name = 0;
  double value = 0;
};

// A value of a device over a time: clock, power, temperature.
struct Sample {
  std::string_view device_type, type, value;
  int64_t device = 0;
  int64_t start_ns = 0, end_ns = 0;
};

// One end of an arrow between events: the ends with the same id and category belong together.
struct Flow {
  Name category = 0, name = 0;
  std::string_view id;
  char phase = 's';  // 's' start, 't' step, 'f' finish
  int64_t process = 0, tid = 0;
  int64_t time_ns = 0;
};

// A table of the .rpd, for rows that come from another .rpd and that no other word here is for.
struct Table {
  enum class Type { kInteger, kReal, kText };
  struct Column {
    std::string name;
    Type type = Type::kText;
    std::string refers_to;  // the table whose ids it holds, this one's in its own "id"; "" = none
    bool required = false;
  };
  std::string name;
  std::vector<Column> columns;
};
using Cell = std::variant<std::monostate, int64_t, double, std::string_view>;

class Sink {
 public:
  virtual ~Sink() = default;

  virtual Wants wants() const { return {}; }
  virtual Name name(std::string_view text) = 0;
  // The process with this pid of the file that is being read.
  virtual int64_t process(int64_t pid) = 0;

  virtual int64_t api(const Api& row) = 0;
  virtual int64_t op(const Op& row) = 0;
  virtual void launch(const Launch&) {}  // at most once for an operation
  virtual void op_counter(int64_t /*op*/, Name, double /*value*/) {}

  virtual void kernel_code(const KernelCode&) {}

  virtual void describe(int64_t /*process*/, const ProcessFacts&) {}
  virtual void thread(int64_t /*process*/, int64_t /*tid*/, std::string_view /*name*/) {}
  virtual void device(const Device&) {}
  virtual void queue(const Queue&) {}
  virtual void counter(const Counter&) {}
  virtual void sample(const Sample&) {}
  virtual void flow(const Flow&) {}
  virtual void stack_frame(int64_t /*api*/, int /*depth*/, Name) {}
  virtual void unfinished(int64_t /*api*/) {}  // a range that the file does not end
  // A fact about a process, or about the file (process 0).
  virtual void note(int64_t /*process*/, std::string_view /*key*/, std::string_view /*value*/) {}
  // The clock `name` showed `value` at `time_ns`.
  virtual void clock(int64_t /*process*/, std::string_view /*name*/, int64_t /*value*/,
                     int64_t /*time_ns*/) {}

  // A call that an operation belongs to besides the one that launched it.
  virtual void further_call(int64_t /*api*/, int64_t /*op*/) {}

  // Tables by name; nullptr if this sink has none of that name.
  virtual const Table* table(std::string_view /*name*/) { return nullptr; }
  // The highest id in it so far.
  virtual int64_t last_id(const Table&) { return 0; }
  // A cell for each column; ids are already those of this sink, times and GPUs those of the file.
  virtual void row(const Table&, const std::vector<Cell>&) {}

  // The first error of any call so far (a full disk). An importer looks now and then.
  virtual Status status() const { return ok_status(); }
};

}  // namespace sonde::importers
