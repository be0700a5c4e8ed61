// What Ingest knows while a recording runs. Private to ingest*.cpp.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "store/arguments.h"
#include "store/bind.h"
#include "store/clock_track.h"
#include "store/ingest/ingest.h"

namespace sonde::store {

// In sonde_clock_snapshot, by SONDE_CLOCK_*.
constexpr std::string_view kHostClocks[] = {"ticks", "monotonic", "monotonic_raw", "realtime",
                                            "boottime"};

struct KnownString {
  std::string text;                       // UTF-8
  int64_t string_id = 0, ustring_id = 0;  // 0: not in the file yet
};

struct KnownFunction {
  uint64_t serial = 0;  // of this definition among all processes'; 0: not defined
  int64_t name_id = 0, domain_id = 0, category_id = 0;
  std::vector<ArgumentFormat> arguments;
  bool json = false;  // which they become
};

struct KnownDevice {
  int64_t gpu_id = 0;
  uint32_t clock = 0;
};

struct KnownQueue {
  int64_t queue_id = 0, gpu_id = 0;
  uint64_t handle = 0;
};

// An op that is in the file but whose launching call is not yet, or what that call asked for.
struct WaitingOp {
  int64_t op_id = 0;  // 0: a request
  int64_t name_id = 0;
  wire::OpRecord record{};
};

struct MarkerText {
  int64_t args_id = 0, domain_id = 0, category_id = 0;
};

struct StartedRange {
  int64_t start_ns = 0, tid = 0;
  MarkerText text;
};

// A stack that was taken for a call, which is in the file but whose call is not yet.
struct LaunchStack {
  uint64_t correlation = 0;
  int64_t stack_id = 0, truncated = 0;
};

// An op that is in the file, for the counters that come after it.
struct KnownOp {
  int64_t op_id = 0;  // 0: none
  uint64_t start = 0;
  uint32_t queue = 0;
};

struct KnownRing {
  uint32_t tid = 0;
  uint64_t last_begin = 0;                 // of the last range or call written
  uint64_t sequence = ~uint64_t{0};        // of the chunk its last event was in
  std::vector<LaunchStack> launches = {};  // of calls that have not ended, the innermost last
  KnownOp last_op = {};
};

struct KnownCall {
  int64_t api_id = 0;
  bool used = false;        // an op of it has come; more may
  bool used_again = false;  // another has, since it was found the one used longest ago
};

// Two numbers or texts that are looked up together.
struct PairHash {
  template <typename A, typename B>
  size_t operator()(const std::pair<A, B>& pair) const {
    return std::hash<A>()(pair.first) * 0x9FB21C651E98DF25 ^ std::hash<B>()(pair.second);
  }
};

// A code object of Python, and the frames of its lines that are in the file.
struct KnownCode {
  std::string file, name, lines;
  int64_t first_line = 0;
  uint32_t version = 0;
  std::unordered_map<uint64_t, int64_t> frames;  // by offset of the instruction
};

// Frames and stacks that are in the file.
struct KnownFrames {
  template <typename A, typename B>
  using Ids = std::unordered_map<std::pair<A, B>, int64_t, PairHash>;
  Ids<std::string, std::string> modules;             // by path and build id
  Ids<int64_t, int64_t> natives;                     // by module and address
  std::unordered_map<std::string, int64_t> pythons;  // by file, function and line
  Ids<int64_t, int64_t> stacks;                      // by parent and frame
  int64_t next_module = 1, next_frame = 1, next_stack = 1;
};

struct Process {
  int64_t id = 0;
  uint64_t spool = 0;
  uint32_t pid = 0;
  bool described = false;  // its sonde_process row is filled in
  bool ended = false;
  // The newest signs that it ran: as ticks, those of records, and as CLOCK_MONOTONIC.
  uint64_t alive_ticks = 0;
  int64_t alive_ns = 0;
  std::optional<int64_t> end_ns;         // if it is known before ended()
  uint32_t newest_definition = 0;        // the largest id
  std::vector<KnownString> strings;      // by definition id; ids are dense
  std::vector<KnownFunction> functions;  // by definition id
  std::unordered_map<uint32_t, KnownDevice> devices;
  std::unordered_map<uint32_t, KnownQueue> queues;
  std::unordered_map<uint32_t, int64_t> modules;  // definition id -> sonde_module.id
  std::unordered_map<uint32_t, KnownCode> codes;  // by definition id
  std::unordered_map<uint32_t, ClockTrack> clocks;
  std::unordered_map<uint32_t, std::string> clock_names;
  bool changed = false;                           // since the last commit
  std::unordered_map<uint64_t, KnownCall> calls;  // by correlation
  // In the order of coming, so that the oldest are forgotten: calls without ops, calls with some,
  // and ops that wait for their call.
  std::deque<uint64_t> unused_calls, used_calls, waiting_order;
  std::unordered_map<uint64_t, std::vector<WaitingOp>> waiting;
  std::unordered_map<uint64_t, StartedRange> started;
  std::unordered_map<uint64_t, int64_t> stopped;  // stops that came before their start
  std::unordered_map<uint32_t, KnownRing> rings;
  std::unordered_map<uint32_t, std::string> threads;  // tid -> name, as in sonde_thread
  std::set<uint32_t> named;                           // tids whose names the program gave itself
};

// Forgets the longest waiting ops that are more than `limit`: their calls were lost.
void forget_waiting(Process& process, size_t limit);

struct Ingest::Impl {
  explicit Impl(Writer& target) : writer(target) {}

  Writer& writer;
  std::map<uint64_t, Process> processes;  // by spool
  ClockTrack ticks, raw, realtime, boottime;
  int64_t now_ns = 0;                 // of the newest clock reading
  uint64_t now_ticks = ~uint64_t{0};  // the same; no record is later
  std::map<std::pair<int64_t, uint32_t>, int64_t> snapshot_written_ns;
  std::map<std::string, Position> positions;
  std::set<std::string> changed_positions;  // since the last commit; gone ones are deleted
  using Drops = std::map<std::pair<std::string, std::string>, uint64_t>;
  Drops drops, earlier_drops;              // of this recording, and of those the file had before
  std::map<std::string, int64_t> gpu_ids;  // by description of the device
  std::set<int64_t> gpu_ids_taken;
  KnownFrames frames;
  int64_t next_process = 1, next_queue = 0;
  uint64_t next_function = 1;
  int64_t rank = -1;  // of the processes of this recording; -1: no job
  uint64_t op_count = 0, api_count = 0;
  int64_t marker_name_id = 0, sonde_domain_id = 0;
  std::array<int64_t, std::size(wire::kOpTypeNames)> op_type_ids{};
  std::optional<Error> error;

  // Calls with equal arguments share one text: a program asks the same things again and again.
  struct ArgumentSlot {
    uint64_t key = 0, check = 0;
    int64_t id = 0;
  };
  std::vector<ArgumentSlot> argument_cache = std::vector<ArgumentSlot>(1 << 14);
  std::string buffer;

  Process& process(uint64_t spool, uint32_t pid);
  Process* find(uint64_t spool);  // nullptr: not known
  Status claim(uint64_t session_id, const std::string& session);
  Status restore();
  Status restore_earlier();
  Status restore_devices();
  Status restore_clocks();
  Status restore_threads();
  Status restore_frames();
  Status save();
  void save_process(uint64_t spool, Process& process);
  void put(const std::string& key, const std::string& value);

  // definitions.cpp
  void define(Process& process, const wire::Record& record);
  void define_process(Process& process, const wire::Record& record);
  void define_device(Process& process, const wire::Record& record);
  void define_queue(Process& process, const wire::Record& record);

  // spans.cpp
  void call(Process& process, KnownRing& ring, const wire::Record& record);
  void range(Process& process, KnownRing& ring, const wire::Record& record);
  void mark(Process& process, KnownRing& ring, const wire::Record& record);
  void range_start(Process& process, KnownRing& ring, const wire::Record& record);
  void range_stop(Process& process, const wire::Record& record);
  int64_t add_marker(const Process& process, const MarkerText& text, int64_t tid, int64_t start_ns,
                     int64_t end_ns);
  int64_t add_api(const ApiRow& row);
  bool begin_unfinished(Process& process, const wire::ChunkHeader& chunk, uint64_t begin,
                        ApiRow& row);
  void add_unfinished(const ApiRow& row);
  int64_t arguments_id(Process& process, const KnownFunction& function, const wire::Record& record,
                       int64_t result);

  // samples.cpp
  void diagnose(std::string_view source, std::string_view text);
  void define_module(Process& process, const wire::Record& record);
  void sample(Process& process, const KnownRing& ring, const wire::Record& record);
  void blocked(Process& process, const wire::Record& record);
  void launch_stack(Process& process, KnownRing& ring, const wire::Record& record);
  void link_stack(KnownRing& ring, uint64_t correlation, int64_t api_id);
  int64_t leaf_of(Process& process, const wire::Record& record);
  void define_code(Process& process, const wire::Record& record);
  int64_t python_frame(Process& process, uint32_t code, uint64_t offset);
  int64_t native_frame(int64_t module, int64_t address);
  int64_t stack(int64_t parent, int64_t frame);

  // ops.cpp
  void op(Process& process, KnownRing& ring, const wire::Record& record);
  void op_counter(Process& process, const KnownRing& ring, const wire::Record& record);
  void copy_request(Process& process, const wire::Record& record);
  void wait(Process& process, uint64_t correlation, const WaitingOp& op);
  void use_call(Process& process, uint64_t correlation, KnownCall& call);
  void link(Process& process, const WaitingOp& waiting, int64_t api_id);
  void write_detail(Process& process, const WaitingOp& waiting, int64_t api_id);

  // ingest.cpp
  int64_t monotonic_ns(Process& process, uint32_t clock, uint64_t value);
  int64_t ns_of(uint64_t at_ticks) const {
    return ticks.to_monotonic_ns(static_cast<int64_t>(at_ticks));
  }
  void note_alive(Process& process, uint64_t at_ticks) const {
    if (at_ticks > process.alive_ticks && at_ticks <= now_ticks) process.alive_ticks = at_ticks;
  }
  int64_t last_alive_ns(const Process& process) const;  // 0: unknown
  ClockTrack* host_clock(uint32_t clock);  // nullptr: not one of the host's, or no conversion
  void counter(Process& process, const KnownRing& ring, const wire::Record& record);
  void snapshot(Process& process, const wire::Record& record);
  void thread(Process& process, KnownRing& ring, const wire::Record& record);
  void note(Process& process, const wire::Record& record);
  int64_t string_id(Process& process, uint32_t id);
  int64_t ustring_id(Process& process, uint32_t id);
  int64_t ustring(std::string_view text);  // as UTF-8, whatever it was
  std::string_view text(Process& process, uint32_t id) const;

  // SQLite ends the transaction itself when the disk is full. What is written then would stay, the
  // positions of rows that are gone too.
  bool in_transaction() const;
  template <typename... Values>
  void insert(std::string_view sql, const Values&... values);
  void keep(Status status) {
    if (!status && !error) error = std::move(status).error();
  }

 private:
  std::map<std::string_view, Statement> statements_;  // by their SQL, which is a literal
};

// Runs a statement of the small tables; `sql` must be a literal.
template <typename... Values>
void Ingest::Impl::insert(std::string_view sql, const Values&... values) {
  if (error || !in_transaction()) return;
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    auto prepared = writer.database().prepare(sql);
    if (!prepared) return keep(Status(std::move(prepared).error()));
    found = statements_.emplace(sql, std::move(prepared).value()).first;
  }
  bind_all(found->second, values...);
  keep(found->second.run());
}

}  // namespace sonde::store
