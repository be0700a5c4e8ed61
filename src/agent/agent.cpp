// The agent's interface: the table that backends and sonde.h call through, definitions, and
// start-up.
#include <pthread.h>
#include <stdlib.h>

#include "agent/announce.h"
#include "agent/attach.h"
#include "agent/attached_table.h"
#include "agent/definitions.h"
#include "agent/events.h"
#include "agent/exec.h"
#include "agent/functions_of.h"
#include "agent/sandbox.h"
#include "agent/spool.h"
#include "agent/window.h"
#include "sonde/sonde.h"

namespace sonde::agent {

namespace {

int is_recording() { return recording() ? 1 : 0; }
uint64_t now_ticks() { return ticks(); }

template <typename T>
uint32_t define_record(wire::RecordType type, T& record) {
  Inside inside;
  ErrnoKeeper keep;
  if (!may_define(static_cast<bool>(inside))) return 0;
  record.header = {type, 0, sizeof(T) / 8, 0};
  return define(&record.header);
}

uint32_t name_id(const char* text) { return text != nullptr ? intern(text, strlen(text)) : 0; }

uint32_t define_function(const char* domain, const char* category, const char* name,
                         const char* arguments) {
  wire::FunctionRecord record = {
      {}, name_id(domain), name_id(category), name_id(name), name_id(arguments)};
  return define_record(wire::RecordType::kFunction, record);
}

uint32_t define_clock(const char* name) {
  wire::ClockRecord record = {{}, name_id(name), 0};
  // Ids of definitions start at 1 like those of the host's clocks; a clock's must not be one of
  // them.
  uint32_t id = 0;
  do {
    id = define_record(wire::RecordType::kClock, record);
  } while (id != 0 && id <= SONDE_CLOCK_BOOTTIME);
  return id;
}

uint32_t define_device(const sonde_device* device) {
  wire::DeviceRecord record = {};
  record.gpu_id = device->gpu_id;
  record.clock = device->clock;
  record.backend = name_id(device->backend);
  record.name = name_id(device->name);
  record.vendor = name_id(device->vendor);
  record.driver = name_id(device->driver);
  record.kind = name_id(device->kind);
  record.location = name_id(device->location);
  record.memory_bytes = device->memory_bytes;
  record.compute_units = device->compute_units;
  record.clock_mhz = device->clock_mhz;
  return define_record(wire::RecordType::kDevice, record);
}

uint32_t define_queue(const sonde_queue* queue) {
  wire::QueueRecord record = {{}, queue->device, queue->flags, queue->handle, queue->context};
  return define_record(wire::RecordType::kQueue, record);
}

void start() { switch_on(); }
void stop() { __atomic_fetch_sub(&g_state.balance, 1, __ATOMIC_RELAXED); }
// Records are in the kernel's shared memory as soon as they are committed.
void flush() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

constexpr struct sonde_agent kTable = {SONDE_AGENT_ABI,
                                       sizeof(struct sonde_agent),
                                       is_recording,
                                       now_ticks,
                                       intern,
                                       define_function,
                                       define_clock,
                                       define_device,
                                       define_queue,
                                       clock_snapshot,
                                       call_begin,
                                       call_end,
                                       op,
                                       copy_request,
                                       range_push,
                                       range_pop,
                                       range_start,
                                       range_stop,
                                       mark,
                                       counter,
                                       metadata,
                                       name_thread,
                                       diagnostic,
                                       dropped,
                                       start,
                                       stop,
                                       flush,
                                       range_at,
                                       call_at,
                                       sample_hz,
                                       sample,
                                       blocked,
                                       launch_stack,
                                       define_module,
                                       define_code,
                                       sample_blocked,
                                       take_launch_stacks,
                                       on_silence,
                                       op_counter};

constexpr struct sonde_functions kFunctions = functions_of(kTable);

// The functions to use where a marker switches recording on (window.h).
template <typename Table>
constexpr Table with_windows(Table table) {
  table.range_push = window_range_push;
  table.range_pop = window_range_pop;
  table.range_start = window_range_start;
  table.range_stop = window_range_stop;
  return table;
}
constexpr struct sonde_agent kWindowTable = with_windows(kTable);
constexpr struct sonde_functions kWindowFunctions = with_windows(kFunctions);

constexpr struct sonde_agent kAttachedTable = as_attached(kTable);
constexpr struct sonde_functions kAttachedFunctions = as_attached(kFunctions);

}  // namespace

bool attach_process(const char* session) {
  if (!attach(session)) return false;
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  if (!announce_process()) ensure_spool();
  return true;
}

namespace {

// What one recording of this process has mapped.
struct Mapped {
  wire::SessionControl* control = nullptr;
  wire::ChunkHeader* definitions = nullptr;
  Ring* rings = nullptr;
};

void give_back(const Mapped& mapped) {
  if (mapped.control != nullptr) munmap(mapped.control, sizeof *mapped.control);
  if (mapped.definitions != nullptr) munmap(mapped.definitions, mapped.definitions->chunk_bytes);
  wipe_rings(mapped.rings);
}

}  // namespace

// A thread that was stopped between two instructions may still read mappings of the previous
// recording, but not of the one before it: those are unmapped here.
bool attach_process_again(const char* session) {
  static Mapped earlier;
  const Mapped before = {g_state.control, definitions_chunk(), g_state.rings};
  begin_again();
  // Another thread that records meanwhile must not make the spool under a name of its own.
  const bool locked = g_state.spool_lock.acquire();
  store(g_state.retry_at, uint64_t{0});
  const bool attached = attach(session);
  const bool announced = attached && announce_process();
  if (locked) g_state.spool_lock.release();
  if (!attached) return false;
  give_back(earlier);
  earlier = before;
  if (!announced) ensure_spool();
  return true;
}

void forget_in_this_thread() {
  ThreadState& state = t_state;
  if (state.busy != 0) return;
  forget_ring();
  state = {};
}

bool is_of_earlier_recording() {
  const ThreadState& state = t_state;
  return state.generation != 0 && state.generation != g_state.generation && state.busy == 0;
}

void leave_recording() { store(g_state.left, 1u); }
const struct sonde_agent* agent_of_attached() { return &kAttachedTable; }
const struct sonde_functions* functions_of_attached() { return &kAttachedFunctions; }

bool recording_is_over() { return load(g_state.control->closed) != 0 || is_orphaned(); }

}  // namespace sonde::agent

#ifdef SONDE_AGENT_STATIC
static void start_up() {}
#else
// The first to ask for a table may be a backend's constructor, which runs before ours.
__attribute__((constructor)) static void start_up() {
  static bool started = false;
  if (started) return;
  started = true;
  sonde::ErrnoKeeper keep;
  sonde::agent::find_next_prctl();
  sonde::agent::find_next_exec();
  sonde::agent::remember_environment();
  if (const char* session = getenv("SONDE_SESSION")) {
    sonde::agent::begin_windows();
    sonde::agent::attach_process(session);
  }
}

__attribute__((destructor)) static void finish() {
  if (sonde::agent::g_state.control == nullptr) return;
  sonde::agent::write_last_names();
  sonde::agent::tell_end();
}
#endif

static bool is_recorded() {
  start_up();
  return sonde::agent::g_state.control != nullptr;
}

// The tables, or nullptr in a process that is not being recorded.
extern "C" __attribute__((visibility("default"))) const struct sonde_agent* sonde_agent_v2(void) {
  if (!is_recorded()) return nullptr;
  return sonde::agent::has_windows() ? &sonde::agent::kWindowTable : &sonde::agent::kTable;
}

extern "C" __attribute__((visibility("default"))) const struct sonde_functions* sonde_functions_v1(
    void) {
  if (!is_recorded()) return nullptr;
  return sonde::agent::has_windows() ? &sonde::agent::kWindowFunctions : &sonde::agent::kFunctions;
}

// Called by backends that were built with the headers of an earlier version.
extern "C" __attribute__((visibility("default"))) const void* sonde_agent_v1(void) {
  static int told;
  if (is_recorded() && __atomic_exchange_n(&told, 1, __ATOMIC_RELAXED) == 0) {
    sonde::agent::diagnostic(
        SONDE_WARNING, "sonde.h",
        "part of the program was built with the headers of an earlier version of "
        "Sonde, and its markers are not recorded: rebuild it");
  }
  return nullptr;
}
