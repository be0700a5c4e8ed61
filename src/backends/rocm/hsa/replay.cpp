#include "backends/rocm/hsa/replay.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/rocm/hsa/counter_request.h"
#include "base/errno_keeper.h"
#include "base/time.h"

namespace sonde::hsa {
namespace {

constexpr uint32_t kQueuePackets = 64;
constexpr uint32_t kAnyBytes = UINT32_MAX;
constexpr int64_t kLateNs = 3'000'000'000;  // beyond what can be expected of a run
constexpr int64_t kNever = INT64_MAX;
constexpr size_t kMostNamed = 256;
constexpr size_t kMostQueues = 64;
constexpr const char* kWaitsForHost = "it waits for the host";

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
uint32_t g_changing, g_waiting;  // threads that change memory now, or wait for that
bool g_taken;                    // a kernel has exclusive use
std::atomic<bool> g_wanted;
std::atomic<uint32_t> g_loose_copies;

// Queues of our own, one per device. Protected by g_stepping, like everything below.
struct ReplayQueue {
  const Device* device;
  QueueMemory* memory;
  Signal done;
};
ReplayQueue g_queues_of_devices[kMostQueues];
size_t g_queue_count;
uint64_t g_named[kMostNamed];  // kernels already reported as not replayable
size_t g_named_count;
uint64_t g_stopped[kMostNamed];  // kernels that waited for the host
size_t g_stopped_count;

std::atomic<uint32_t> g_progress;  // counts finished runs of kernels

// Over when no kernel has finished for a while: as long as some do, the wait may still end.
class Patience {
 public:
  bool is_over() {
    const uint32_t progress = g_progress.load();
    if (progress == seen_) return monotonic_now_ns() - since_ns_ > kPatienceNs;
    seen_ = progress;
    since_ns_ = monotonic_now_ns();
    return false;
  }

 private:
  uint32_t seen_ = g_progress.load();
  int64_t since_ns_ = monotonic_now_ns();
};

bool try_to_begin(bool is_waiting) {
  pthread_mutex_lock(&g_lock);
  const bool may = !g_taken;
  if (may) ++g_changing;
  if (may && is_waiting) --g_waiting;
  if (!may && !is_waiting) ++g_waiting;
  pthread_mutex_unlock(&g_lock);
  return may;
}

void say_not_replayed(const DispatchPacket& packet, const char* why) {
  agent().dropped("kernels that were not run again: counters of the first pass only", 1);
  for (size_t i = 0; i < g_named_count; ++i) {
    if (g_named[i] == packet.kernel_object) return;
  }
  if (g_named_count == kMostNamed) return;
  g_named[g_named_count++] = packet.kernel_object;
  const char* name = kernel_text(packet.kernel_object);
  const size_t room = (name != nullptr ? strlen(name) : 0) + 200;
  char* text = static_cast<char*>(malloc(room));
  if (text == nullptr) return;
  snprintf(text, room, "%s: %s", name != nullptr ? name : "a kernel without a name", why);
  agent().metadata("counters.not_replayed", text);
  free(text);
}

ReplayQueue* queue_for(const Device* device) {
  for (size_t i = 0; i < g_queue_count; ++i) {
    if (g_queues_of_devices[i].device == device) return &g_queues_of_devices[i];
  }
  if (g_queue_count == kMostQueues) return nullptr;
  ReplayQueue& made = g_queues_of_devices[g_queue_count];
  made = {device, nullptr, {}};
  constexpr uint32_t kSingleProducer = 1;
  if (next().queue_create(device->handle, kQueuePackets, kSingleProducer, nullptr, nullptr,
                          kAnyBytes, kAnyBytes, &made.memory) != kSuccess) {
    return nullptr;
  }
  if (next().signal_create(1, 0, nullptr, kSignalGpuOnly, &made.done) != kSuccess) {
    next().queue_destroy(made.memory);
    return nullptr;
  }
  ++g_queue_count;
  return &made;
}

// The header is written last: it passes the packet to the device.
void write(QueueMemory* queue, uint64_t index, const DispatchPacket& packet) {
  auto* place = static_cast<DispatchPacket*>(queue->base_address) + index % queue->size;
  memcpy(reinterpret_cast<char*>(place) + 4, reinterpret_cast<const char*>(&packet) + 4,
         sizeof packet - 4);
  const uint32_t front = packet.header | uint32_t{packet.setup} << 16;
  __atomic_store_n(reinterpret_cast<uint32_t*>(place), front, __ATOMIC_RELEASE);
}

bool is_done(const ReplayQueue& queue, int64_t until_ns) {
  for (int round = 0; next().signal_load_relaxed(queue.done) > 0; ++round) {
    if (until_ns != kNever && monotonic_now_ns() > until_ns) return false;
    pause_a_little(round);
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return true;
}

// False: it has not finished by then.
bool run(ReplayQueue* queue, const CounterPass& pass, DispatchPacket packet, int64_t until_ns) {
  constexpr uint64_t kPackets = 3;
  constexpr uint16_t kBarrier = 1 << 8;
  packet.header |= kBarrier;
  packet.completion = {};
  DispatchPacket stop = stop_of(pass);
  stop.completion = queue->done;
  next().signal_store_relaxed(queue->done, 1);
  const uint64_t first = next().queue_add_write_index_scacq_screl(queue->memory, kPackets);
  write(queue->memory, first, start_of(pass));
  write(queue->memory, first + 1, packet);
  write(queue->memory, first + 2, stop);
  next().signal_store_screlease(queue->memory->doorbell, static_cast<int64_t>(first + 2));
  const bool done = is_done(*queue, until_ns);
  note_progress();
  return done;
}

void destroy(const ReplayQueue& queue) {
  next().queue_destroy(queue.memory);
  next().signal_destroy(queue.done);
}

bool was_stopped(const DispatchPacket& packet) {
  for (size_t i = 0; i < g_stopped_count; ++i) {
    if (g_stopped[i] == packet.kernel_object) return true;
  }
  return false;
}

void report_not_restored() {
  rocm::report(SONDE_ERROR, "counters",
               "a kernel was run again on memory that could not be restored: results may be wrong");
}

// Ends a run that waits for the host: restoring what the host wrote in the first run often lets it
// finish. Otherwise its queue is destroyed, and the next replay creates a new one.
void stop(ReplayQueue* queue, const DispatchPacket& packet) {
  after_last_run();
  const bool has_ended = is_done(*queue, monotonic_now_ns() + kLateNs);
  if (!has_ended) {
    destroy(*queue);
    *queue = g_queues_of_devices[--g_queue_count];
  }
  if (!restore_first_run(has_ended)) report_not_restored();
  if (g_stopped_count < kMostNamed) g_stopped[g_stopped_count++] = packet.kernel_object;
  say_not_replayed(packet, kWaitsForHost);
}

}  // namespace

bool replays() {
  static const pid_t process = [] {
    const char* text = getenv("SONDE_COUNTERS");
    return text != nullptr && next_pass(text) != nullptr ? getpid() : 0;
  }();
  // A forked child must not wait for turns that its parent began.
  return process != 0 && process == getpid();
}

void note_progress() { g_progress.fetch_add(1); }

void MemoryTurn::begin() {
  const ErrnoKeeper keep;
  Patience patience;
  for (int round = 0; !try_to_begin(round != 0); ++round) {
    if (patience.is_over()) g_wanted.store(true);
    step_counting();
    pause_a_little(round);
  }
}

void MemoryTurn::end() {
  pthread_mutex_lock(&g_lock);
  --g_changing;
  pthread_mutex_unlock(&g_lock);
}

bool begin_copy(uint32_t count, const Signal* depends_on) {
  Patience patience;
  for (uint32_t i = 0; i < count; ++i) {
    for (int round = 0; next().signal_load_relaxed(depends_on[i]) > 0; ++round) {
      if (patience.is_over()) {
        MemoryTurn::begin();  // so that it does not begin between the runs of a kernel
        g_loose_copies.fetch_add(1);
        MemoryTurn::end();
        return false;
      }
      step_counting();
      pause_a_little(round);
    }
  }
  MemoryTurn::begin();
  return true;
}

void end_loose_copy() { g_loose_copies.fetch_sub(1); }

bool take_memory() {
  pthread_mutex_lock(&g_lock);
  const bool may = !g_taken && g_changing == 0 && g_waiting == 0;
  if (may) g_taken = true;
  pthread_mutex_unlock(&g_lock);
  if (may) g_wanted.store(false);
  return may;
}

void give_memory_back() {
  pthread_mutex_lock(&g_lock);
  g_taken = false;
  pthread_mutex_unlock(&g_lock);
}

bool memory_is_wanted() { return g_wanted.load(); }

bool prepare_replay(const CounterSession& session, const DispatchPacket& packet) {
  const char* problem = nullptr;
  if (g_loose_copies.load() != 0) {
    problem = "a concurrent copy waits for the host";
  } else if (was_stopped(packet)) {
    problem = kWaitsForHost;
  } else if (const char* unsaved = unsaved_memory()) {
    problem = unsaved;
  } else if (queue_for(session.device) == nullptr) {
    problem = "no queue could be created for it";
  } else {
    problem = save_memory(packet);
  }
  if (problem != nullptr) say_not_replayed(packet, problem);
  return problem == nullptr;
}

void replay(const CounterSession& session, const DispatchPacket& packet,
            const struct sonde_op& op) {
  ReplayQueue* queue = queue_for(session.device);
  const int64_t first_ns = monotonic_now_ns() - session.since_ns;
  bool may_wait = false;
  const char* problem = after_first_run(&may_wait);
  if (problem != nullptr) return say_not_replayed(packet, problem);
  for (uint32_t i = 1; i < session.pass_count; ++i) {
    if (!restore_memory()) report_not_restored();
    const int64_t until_ns = may_wait ? monotonic_now_ns() + kLateNs + 4 * first_ns : kNever;
    if (!run(queue, *session.passes[i], packet, until_ns)) return stop(queue, packet);
    read_counters(session.passes[i], op);
  }
  after_last_run();
}

void end_replays() {
  for (size_t i = 0; i < g_queue_count; ++i) destroy(g_queues_of_devices[i]);
  g_queue_count = 0;
  forget_all_memory();
}

}  // namespace sonde::hsa
