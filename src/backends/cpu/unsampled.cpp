#include "backends/cpu/unsampled.h"

#include <stdio.h>

#include "agent/state.h"
#include "backends/cpu/arming.h"
#include "backends/cpu/kernel_signals.h"
#include "backends/cpu/signals.h"

namespace sonde::cpu {

namespace {

uint64_t g_threads = 0, g_cpu_ns = 0;

}  // namespace

void note_blocked(const ThreadSampler& sampler, uint64_t period_ns) {
  constexpr uint64_t kMany = 5;  // else they may be due to the randomness of the intervals
  const bool has_clock = agent::load(sampler.timer) >= 0 || agent::load(sampler.started) != 0;
  const int tid = agent::load(sampler.tid);
  uint64_t cpu_ns = 0;
  if (!has_clock || tid == 0 || !agent::was_always_on() || !cpu_ns_of(tid, cpu_ns)) return;
  const uint64_t since_ns = sampler.last_cpu_ns;
  if (cpu_ns < since_ns + kMany * period_ns || !blocks(tid, sampling_signal())) return;
  __atomic_fetch_add(&g_threads, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&g_cpu_ns, cpu_ns - since_ns, __ATOMIC_RELAXED);
}

void tell_blocked(const struct sonde_agent* agent) {
  const auto threads = static_cast<unsigned long long>(agent::load(g_threads));
  if (threads == 0) return;
  char text[128];
  snprintf(text, sizeof text,
           "not sampled: %llu threads that block all signals, %llu ms of CPU time", threads,
           static_cast<unsigned long long>(agent::load(g_cpu_ns) / 1000000));
  agent->diagnostic(SONDE_INFO, "cpu", text);
}

void forget_blocked() {
  agent::store(g_threads, uint64_t{0});
  agent::store(g_cpu_ns, uint64_t{0});
}

}  // namespace sonde::cpu
