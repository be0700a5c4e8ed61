#include "backends/cpu/waiting.h"

#include <pthread.h>

#include "agent/state.h"
#include "backends/cpu/arming.h"
#include "backends/cpu/blocked.h"
#include "backends/cpu/signals.h"
#include "base/errno_keeper.h"
#include "base/helper_thread.h"
#include "wire/changes.h"

namespace sonde::cpu {

namespace {

constexpr size_t kStackBytes = 64 * 1024;
constexpr time_t kSecondsIdle = 1;

const struct sonde_agent* g_agent = nullptr;
uint32_t g_ends = 0;  // callers that want the thread to end
int g_tid = -1;       // of the starter thread; 0: not known yet, -1: there was none

bool any_waits() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    if (agent::load(one->waits) != 0) return true;
  }
  return false;
}

// The current fork generation. A child of a fork that ran no handlers inherits `waited_for` but not
// the thread, so the generation tells whether the thread exists.
uint32_t running() { return agent::load(agent::g_state.generation); }

bool claim() {
  return __atomic_exchange_n(&agent::g_state.waited_for, running(), __ATOMIC_SEQ_CST) != running();
}

// Decides whether the starter thread may end. Threads that begin to wait after this see that it is
// gone.
bool leaves() {
  __atomic_store_n(&agent::g_state.waited_for, 0u, __ATOMIC_SEQ_CST);
  if (agent::load(g_ends) != 0) {
    start_waiting_clocks();
    return true;
  }
  return !any_waits() || !claim();
}

void* wait_for_start(void*) {
  pthread_setname_np(pthread_self(), "sonde-starter");
  agent::store(g_tid, static_cast<int>(syscall(SYS_gettid)));
  wire::SessionControl& control = *agent::g_state.control;
  for (;;) {
    const uint32_t seen = agent::load_acquire(control.changes);
    if (g_agent->recording() != 0) start_waiting_clocks();
    if (agent::load(g_ends) == 0) wire::wait_for_change(control, seen, kSecondsIdle);
    const bool idle = agent::load_acquire(control.changes) == seen && !any_waits();
    if ((idle || agent::load(g_ends) != 0) && leaves()) return nullptr;
  }
}

bool start_thread() {
  const ErrnoKeeper keep;
  agent::store(g_tid, 0);
  if (start_helper_thread(wait_for_start, nullptr, kStackBytes)) return true;
  agent::store(g_tid, -1);
  __atomic_store_n(&agent::g_state.waited_for, 0u, __ATOMIC_SEQ_CST);
  start_waiting_clocks();
  return false;
}

}  // namespace

void prepare_waiting(const struct sonde_agent* agent) { g_agent = agent; }

void let_wait(ThreadSampler& sampler) {
  const bool later = sampling_signal() != 0 && g_agent->recording() == 0 && !agent::is_new_child();
  if (!later || agent::load(g_ends) != 0) return;
  __atomic_store_n(&sampler.waits, 1, __ATOMIC_SEQ_CST);
  if (agent::load(agent::g_state.waited_for) == running() || !claim()) return;
  if (!start_thread()) agent::store(sampler.waits, 0u);
}

void end_waiting() {
  if (agent::load(g_tid) < 0) return;
  const ErrnoKeeper keep;
  __atomic_fetch_add(&g_ends, 1, __ATOMIC_SEQ_CST);
  wire::tell_change(*agent::g_state.control);
  wait_until_gone(g_tid);
  __atomic_fetch_sub(&g_ends, 1, __ATOMIC_SEQ_CST);
}

void end_idle_waiting() {
  if (agent::load(g_tid) >= 0 && !any_waits()) end_waiting();
}

void waiting_after_fork() {
  agent::store(agent::g_state.waited_for, 0u);
  agent::store(g_ends, 0u);
  agent::store(g_tid, -1);
}

}  // namespace sonde::cpu
