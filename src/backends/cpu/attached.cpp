#include "backends/cpu/attached.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/attach.h"
#include "agent/platform.h"
#include "agent/state.h"
#include "backends/cpu/arming.h"
#include "backends/cpu/blocked.h"
#include "backends/cpu/signals.h"
#include "base/errno_keeper.h"
#include "base/helper_thread.h"

// What else records in such a process, if this library contains it (rocm/late): begin takes the
// list of wanted parts and writes a line for each that is recorded (+) or not, with the reason (-).
extern "C" {
__attribute__((weak)) void sonde_late_begin(const struct sonde_agent* agent, const char* parts,
                                            char* told, size_t room);
__attribute__((weak)) void sonde_late_look();
__attribute__((weak)) void sonde_late_end();
}

namespace sonde::cpu {

namespace {

constexpr size_t kStackBytes = 256 * 1024;
constexpr long kLookEveryNs = 20'000'000;
constexpr long kHandlersEndNs = 10'000'000;  // longer than a handler takes

uint32_t g_round = 0;  // counts attachments; 0: not attached
uint32_t g_busy = 0;   // a recording is in progress
int g_own_tid = 0;
char g_session[PATH_MAX];
char g_parts[128];

int tid_of_this() { return static_cast<int>(syscall(SYS_gettid)); }

void pause(long ns) {
  const timespec time = {0, ns};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

bool exists(int tid) { return syscall(SYS_tgkill, getpid(), tid, 0) == 0; }

ThreadSampler* sampler_of(int tid) {
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    if (agent::load_acquire(one->tid) == tid) return one;
  }
  return nullptr;
}

bool is_helper(int tid) {
  char path[64], name[16] = {};
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
  FILE* file = fopen(path, "re");
  if (file == nullptr) return false;
  const size_t got = fread(name, 1, sizeof name - 1, file);
  fclose(file);
  return got >= 6 && memcmp(name, "sonde-", 6) == 0;
}

void arm_new(int tid) {
  if (tid == g_own_tid || sampler_of(tid) != nullptr || is_helper(tid)) return;
  ThreadSampler* sampler = take_sampler();
  if (sampler == nullptr) return;
  if (!arm_other(sampler, tid)) forget_other(sampler);
}

void forget_ended() {
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    const int tid = agent::load_acquire(one->tid);
    if (tid != 0 && !exists(tid)) forget_other(one);
  }
}

void look_for_threads() {
  forget_ended();
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const int tid = atoi(entry->d_name);
    if (tid > 0) arm_new(tid);
  }
  closedir(folder);
}

void end_sampling() {
  silence();
  pause_watch();
  end_signals();
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    if (agent::load_acquire(one->tid) != 0) forget_other(one);
  }
}

void detach() {
  if (sonde_late_end != nullptr) sonde_late_end();
  end_sampling();
  pause(kHandlersEndNs);
  agent::leave_recording();
  agent::forget_in_this_thread();
}

bool join() {
  end_silence();
  return g_round == 0 ? agent::attach_process(g_session) : agent::attach_process_again(g_session);
}

// Reports to the recorder, which waits for the file: it is complete as soon as it exists.
void tell(const char* name, const char* text) {
  char path[PATH_MAX + 16], part[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/%s", g_session, name);
  snprintf(part, sizeof part, "%s/%s.part", g_session, name);
  FILE* file = fopen(part, "we");
  if (file == nullptr) return;
  fputs(text, file);
  fclose(file);
  rename(part, path);
}

void begin(const struct sonde_agent* agent, bool sampling) {
  char text[2048] = {};
  if (agent->sample_hz() != 0) {
    snprintf(text, sizeof text, "%s",
             sampling ? "+call stacks\n" : "-call stacks: the process leaves no signal for them\n");
  }
  const size_t used = strlen(text);
  if (sonde_late_begin != nullptr) {
    sonde_late_begin(agent, g_parts, text + used, sizeof text - used);
  }
  tell("joined", text);  // what is recorded
}

void* attend(void*) {
  pthread_setname_np(pthread_self(), "sonde-attached");
  g_own_tid = tid_of_this();
  if (join()) {
    const struct sonde_agent* agent = agent::agent_of_attached();
    agent::store(g_round, agent::load(g_round) + 1);
    const bool sampling = prepare_attached(agent);
    begin(agent, sampling);
    bool has_signal = sampling;
    while (!agent::recording_is_over()) {
      if (has_signal && !signal_is_ours()) {
        agent->diagnostic(SONDE_WARNING, "cpu",
                          "sampling ended: the process uses the signal itself now");
        end_sampling();
        has_signal = false;
      }
      if (has_signal) look_for_threads();
      if (sonde_late_look != nullptr) sonde_late_look();
      pause(kLookEveryNs);
    }
    detach();
    tell("left", "");
  }
  __atomic_store_n(&g_busy, 0, __ATOMIC_RELEASE);
  return nullptr;
}

}  // namespace

ThreadSampler* adopt(ThreadSampler* own, const siginfo_t& info) {
  const uint32_t round = agent::load(g_round);
  if (round == 0 || info.si_code != SI_TIMER) return own;
  ThreadSampler* sampler = own;
  if (sampler == nullptr || agent::load(sampler->tid) != tid_of_this()) {
    sampler = sampler_of(tid_of_this());
    if (sampler == nullptr || info.si_value.sival_ptr != sampler) return own;
    set_this_sampler(sampler);
  }
  if (agent::is_of_earlier_recording()) agent::forget_in_this_thread();
  return sampler;
}

}  // namespace sonde::cpu

// Called in a stopped thread of the process (record/attach.cpp), so it does as little as possible.
// `text` is the session and, in a second line, what to record with rocm/late. Returns 0: joined the
// session, 1: another recording has the process, 2: no memory.
extern "C" __attribute__((visibility("default"))) int sonde_attach_v2(const char* text) {
  using namespace sonde::cpu;
  const sonde::ErrnoKeeper keep;
  const bool recorded = sonde::agent::g_state.control != nullptr && g_round == 0;
  if (recorded || __atomic_exchange_n(&g_busy, 1, __ATOMIC_ACQUIRE) != 0) return 1;
  const char* const end = strchr(text, '\n');
  if (end != nullptr && static_cast<size_t>(end - text) < sizeof g_session &&
      strlen(end + 1) < sizeof g_parts) {
    memcpy(g_session, text, static_cast<size_t>(end - text));
    g_session[end - text] = '\0';
    strcpy(g_parts, end + 1);
    if (sonde::start_helper_thread(attend, nullptr, kStackBytes)) return 0;
  }
  __atomic_store_n(&g_busy, 0, __ATOMIC_RELEASE);
  return 2;
}
