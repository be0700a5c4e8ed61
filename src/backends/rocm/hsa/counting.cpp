#include "backends/rocm/hsa/counting.h"

#include <dlfcn.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <array>

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/counter_request.h"
#include "backends/rocm/hsa/replay.h"
#include "base/errno_keeper.h"
#include "base/helper_thread.h"
#include "base/time.h"
#include "base/uncancelled.h"

namespace sonde::hsa {
namespace {

constexpr uint16_t kBarrierPacket = kBarrierAndPacket | 1 << 8 | 2 << 9 | 2 << 11;
constexpr int kYields = 100;                                       // before pausing
constexpr const char* kWaitingKernels = "__amd_rocclr_streamOps";  // HIP's own

// A dispatch in its queue. Its signals, in the order of completion: `ready`, `go`, that of
// `dispatch`, which has its times, and, if it is counted, `stopped`, after which its counters can
// be read. Behind it the queue is blocked until `read`, and completes `released` when it continues.
struct Counted {
  Counted* next;
  Queue* queue;
  CounterSession* session;
  Signal ready, go, stopped, read, released;
  Dispatch dispatch;
  DispatchPacket packet;  // as written by the program
  bool counted, running, spoilt;
  bool again;     // replayed for each further pass, alone in the process
  bool finished;  // only has to be released
};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;  // protects the lists
Counted* g_first;
Counted* g_last;
Counted* g_free;
std::atomic<uint32_t> g_pending;
std::atomic<bool> g_stepping;
uint32_t g_running;    // under g_stepping
int64_t g_since_ns;    // when the last of these was started; likewise
Counted* g_exclusive;  // has exclusive use of memory; likewise
std::atomic<uint64_t> g_dispatches;
pthread_once_t g_once = PTHREAD_ONCE_INIT;
regex_t g_kernel;
bool g_has_kernel;

void* run_stepper(void*) {
  for (int round = 0;; ++round) {
    if (g_pending.load() != 0 && is_open()) {
      step_counting();
    } else {
      round = kYields;
    }
    pause_a_little(round);
  }
  return nullptr;
}

void prepare() {
  const char* kernel = getenv("SONDE_COUNTERS_KERNEL");
  if (kernel != nullptr && *kernel != '\0') {
    g_has_kernel = regcomp(&g_kernel, kernel, REG_EXTENDED | REG_NOSUB) == 0;
  }
  if (!start_helper_thread(run_stepper, nullptr, 256 * 1024)) {
    rocm::report(SONDE_WARNING, "counters",
                 "no thread to release kernels: the program may be slow");
  }
}

bool matches(const char* name) { return regexec(&g_kernel, name, 0, nullptr, 0) == 0; }

// Matches the name as recorded or as in the source. The C++ library is present, since the runtime
// needs it.
bool is_wanted_kernel(uint64_t object) {
  const char* name = kernel_text(object);
  if (name != nullptr && strncmp(name, kWaitingKernels, strlen(kWaitingKernels)) == 0) return false;
  if (!g_has_kernel) return true;
  if (name == nullptr || matches(name)) return name != nullptr;
  using Demangle = char* (*)(const char*, char*, size_t*, int*);
  static const auto demangle = reinterpret_cast<Demangle>(dlsym(RTLD_DEFAULT, "__cxa_demangle"));
  if (demangle == nullptr) return false;
  int status = 0;
  char* plain = demangle(name, nullptr, nullptr, &status);
  const bool found = plain != nullptr && matches(plain);
  free(plain);
  return found;
}

std::array<Signal*, 6> signals_of(Counted* counted) {
  return {&counted->ready, &counted->go,       &counted->stopped,
          &counted->read,  &counted->released, &counted->dispatch.signal};
}

void destroy(Counted* counted) {
  for (const Signal* signal : signals_of(counted)) {
    if (signal->handle != 0) next().signal_destroy(*signal);
  }
  free(counted);
}

Counted* take() {
  pthread_mutex_lock(&g_lock);
  Counted* counted = g_free;
  if (counted != nullptr) g_free = counted->next;
  pthread_mutex_unlock(&g_lock);
  if (counted == nullptr) {
    counted = static_cast<Counted*>(calloc(1, sizeof(Counted)));
    if (counted == nullptr) return nullptr;
    for (Signal* signal : signals_of(counted)) {
      if (next().signal_create(1, 0, nullptr, kSignalGpuOnly, signal) != kSuccess) {
        destroy(counted);
        return nullptr;
      }
    }
  }
  for (const Signal* signal : signals_of(counted)) {
    memory_of(*signal)->value = 1;  // no other thread knows it yet
  }
  counted->next = nullptr;
  counted->running = counted->spoilt = counted->finished = false;
  return counted;
}

void append(Counted* counted) {
  pthread_mutex_lock(&g_lock);
  (g_last != nullptr ? g_last->next : g_first) = counted;
  g_last = counted;
  pthread_mutex_unlock(&g_lock);
  g_pending.fetch_add(1);
}

// Moves an entry from the list to the free ones. The caller has g_stepping.
void remove(Counted* counted, Counted* before) {
  pthread_mutex_lock(&g_lock);
  (before != nullptr ? before->next : g_first) = counted->next;
  if (g_last == counted) g_last = before;
  counted->next = g_free;
  g_free = counted;
  pthread_mutex_unlock(&g_lock);
  g_pending.fetch_sub(1);
}

Counted* after(const Counted* counted) {
  pthread_mutex_lock(&g_lock);
  Counted* found = counted != nullptr ? counted->next : g_first;
  pthread_mutex_unlock(&g_lock);
  return found;
}

bool is_over(const Counted& counted) {
  return value_of(counted.counted ? counted.stopped : counted.dispatch.signal) <= 0;
}

// Updates the program's own signal, from which it may read the times.
void tell_program(const Counted& counted) {
  const Signal wanted = counted.dispatch.wanted;
  if (wanted.handle == 0) return;
  memory_of(wanted)->start_ts = memory_of(counted.dispatch.signal)->start_ts;
  __atomic_store_n(&memory_of(wanted)->end_ts, end_of(counted.dispatch.signal), __ATOMIC_RELEASE);
  next().signal_subtract_screlease(wanted, 1);
}

void end_exclusive() {
  if (g_exclusive == nullptr) return;
  g_exclusive->again = false;
  g_exclusive = nullptr;
  give_memory_back();
}

void release(Counted& counted) {
  if (!counted.running) return;
  counted.running = false;
  --g_running;
  if (g_exclusive == &counted) end_exclusive();
  CounterSession& session = *counted.session;
  --(counted.counted ? session.alone : session.sharing);
  if (session.alone + session.sharing == 0) session.open = false;
}

void finish(Counted& counted) {
  Times times = {};
  next().profiling_get_dispatch_time(counted.queue->device->handle, counted.dispatch.signal,
                                     &times);
  struct sonde_op op = kernel_op(*counted.queue, counted.dispatch);
  op.start = times.start;
  op.end = times.end;
  agent().op(&op);
  note_end(counted.dispatch.noted, tick_ns());
  note_progress();
  if (counted.spoilt) {
    agent().dropped("counters of kernels that could not run alone", 1);
  } else if (counted.counted) {
    read_counters(counted.session->passes[0], op);
    if (counted.again) replay(*counted.session, counted.packet, op);
  }
  release(counted);
  advance(counted.queue, counted.dispatch.position + 1);
  tell_program(counted);
  counted.finished = true;
  next().signal_store_screlease(counted.read, 0);
}

bool may_run(const Counted& counted) {
  const CounterSession& session = *counted.session;
  if (session.open) return true;
  if (g_exclusive != nullptr || (counted.again && g_running != 0)) return false;
  return session.alone == 0 && (!counted.counted || session.sharing == 0);
}

// Does nothing yet while memory is being changed.
void let_go(Counted& counted) {
  CounterSession& session = *counted.session;
  if (session.open) counted.again = false;
  if (counted.again) {
    if (!take_memory()) return;
    g_exclusive = &counted;
    if (!prepare_replay(session, counted.packet)) end_exclusive();
  }
  counted.running = true;
  ++g_running;
  counted.spoilt = counted.counted && session.open;
  ++(counted.counted ? session.alone : session.sharing);
  session.since_ns = g_since_ns = monotonic_now_ns();
  next().signal_store_screlease(counted.go, 0);
}

void give_up_counting(CounterSession& session) {
  session.open = true;
  for (Counted* counted = after(nullptr); counted != nullptr; counted = after(counted)) {
    if (counted->session == &session && counted->running) counted->spoilt = counted->counted;
  }
}

// A dispatch is ready but may not run: the one that is running may be waiting for it.
void lose_patience(CounterSession& waiting) {
  CounterSession& session = g_exclusive != nullptr ? *g_exclusive->session : waiting;
  if (monotonic_now_ns() - (replays() ? g_since_ns : session.since_ns) < kPatienceNs) return;
  end_exclusive();
  give_up_counting(session);
}

void put_barrier(Queue* queue, Signal wait_for, Signal completion) {
  BarrierPacket barrier = {};
  barrier.header = kBarrierPacket;
  barrier.depends_on[0] = wait_for;
  barrier.completion = completion;
  put(queue, &barrier);
}

}  // namespace

bool counting() {
  static const bool on = getenv("SONDE_COUNTERS") != nullptr;
  return on;
}

void pause_a_little(int round) {
  constexpr timespec kPause = {0, 50'000};
  if (round < kYields) {
    sched_yield();
  } else {
    sleep_uncancelled(kPause);
  }
}

bool any_counted() { return g_pending.load() != 0; }

bool count_dispatch(Queue* queue, const DispatchPacket& packet, const Launch& launch) {
  const uint64_t number = g_dispatches.fetch_add(1);
  CounterSession* session = session_of(queue->device);
  if (session == nullptr || session->pass_count == 0 || queue->size < 2 * kCountedPackets)
    return false;
  pthread_once(&g_once, prepare);
  if (!wait_for_room(queue, kCountedPackets)) return false;
  Counted* counted = take();
  if (counted == nullptr) return false;
  counted->queue = queue;
  counted->session = session;
  counted->counted = in_ranges(getenv("SONDE_COUNTERS_DISPATCH"), number) &&
                     is_wanted_kernel(packet.kernel_object);
  counted->again = counted->counted && session->pass_count > 1;
  counted->packet = packet;
  describe(&counted->dispatch, packet, launch, note_dispatch(*queue, packet));
  counted->dispatch.wanted = packet.completion;
  if (packet.completion.handle != 0) settle(packet.completion);
  DispatchPacket held = packet;
  held.completion = counted->dispatch.signal;
  put_barrier(queue, {}, counted->ready);
  put_barrier(queue, counted->go, {});
  if (counted->counted) put(queue, &start_of(*session->passes[0]));
  held.header |= 1 << 8;  // not before the counters have been started
  put(queue, &held);
  if (counted->counted) {
    DispatchPacket stop = stop_of(*session->passes[0]);
    stop.completion = counted->stopped;
    put(queue, &stop);
  }
  counted->dispatch.position = queue->written.load(std::memory_order_relaxed) - 1;
  put_barrier(queue, counted->read, counted->released);
  queue->last_tracked = queue->written;
  append(counted);
  return true;
}

void step_counting() {
  if (g_pending.load() == 0 || g_stepping.exchange(true, std::memory_order_acquire)) return;
  const ErrnoKeeper keep;
  Counted* before = nullptr;
  for (Counted* counted = after(nullptr); counted != nullptr; counted = after(before)) {
    if (counted->running && is_over(*counted)) finish(*counted);
    if (counted->finished && value_of(counted->released) <= 0) {
      remove(counted, before);
    } else {
      before = counted;
    }
  }
  if (g_exclusive != nullptr && memory_is_wanted()) lose_patience(*g_exclusive->session);
  for (Counted* counted = after(nullptr); counted != nullptr; counted = after(counted)) {
    if (counted->running || counted->finished || value_of(counted->ready) > 0) continue;
    if (!may_run(*counted)) lose_patience(*counted->session);
    if (may_run(*counted)) let_go(*counted);
  }
  g_stepping.store(false, std::memory_order_release);
}

void settle_counted(const Queue* queue) {
  constexpr int kRounds = 4000;
  const auto in_flight = [&] {
    for (Counted* counted = after(nullptr); counted != nullptr; counted = after(counted)) {
      if ((queue == nullptr || counted->queue == queue) && value_of(counted->ready) <= 0)
        return true;
    }
    return false;
  };
  for (int round = 0; round < kRounds && any_counted() && in_flight(); ++round) {
    step_counting();
    pause_a_little(round);
  }
}

uint64_t lose_counted(const Queue* queue) {
  if (!any_counted()) return 0;
  while (g_stepping.exchange(true, std::memory_order_acquire)) sched_yield();
  uint64_t lost = 0;
  Counted* before = nullptr;
  for (Counted* counted = after(nullptr); counted != nullptr; counted = after(before)) {
    if (counted->queue != queue) {
      before = counted;
      continue;
    }
    lost += counted->finished ? 0 : 1;
    release(*counted);
    remove(counted, before);
  }
  g_stepping.store(false, std::memory_order_release);
  return lost;
}

void end_counting() {
  if (!counting()) return;
  pthread_mutex_lock(&g_lock);
  Counted* counted = g_free;
  g_free = nullptr;
  pthread_mutex_unlock(&g_lock);
  while (counted != nullptr) {
    Counted* behind = counted->next;
    destroy(counted);
    counted = behind;
  }
  end_replays();
  free_sessions();
}

}  // namespace sonde::hsa
