// Start-up, and the start and end of threads and processes: libc functions that are interposed
// because the backend is preloaded.
#include <pthread.h>
#include <threads.h>

#include "agent/platform.h"
#include "backends/cpu/arming.h"
#include "backends/cpu/blocked.h"
#include "backends/cpu/modules.h"
#include "backends/cpu/sampler.h"
#include "backends/cpu/signals.h"
#include "backends/cpu/waiting.h"
#include "base/errno_keeper.h"
#include "base/next_function.h"
#include "base/uncancelled.h"

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

extern "C" void* __libc_stack_end;

namespace sonde::cpu {

namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
struct Next {
  NextFunction<Create> pthread_create{"pthread_create"};
  NextFunction<int (*)(thrd_t*, thrd_start_t, void*)> thrd_create{"thrd_create"};
  NextFunction<int (*)(void*)> dlclose{"dlclose"};
  NextFunction<int (*)(int)> unshare{"unshare"};
  NextFunction<int (*)(int, int)> setns{"setns"};
};
constinit Next g_next;

pthread_key_t g_end_key;
bool g_has_end_key = false;
const ThreadSampler* g_of_main_thread = nullptr;
uint32_t g_main_thread_left = 0;
bool g_is_forked = false;
size_t g_default_stack_bytes = 8 << 20;

// Above a thread's first frame lies its descriptor, which is larger than this.
constexpr uint64_t kAboveFirstFrame = 1024;

void find_thread_calls() {
  find_all(g_next.pthread_create, g_next.thrd_create, g_next.dlclose, g_next.unshare, g_next.setns);
}

bool any_armed() {
  for (ThreadSampler* one = all_samplers(); one != nullptr; one = one->next_of_all) {
    if (agent::load_acquire(one->tid) != 0) return true;
  }
  return false;
}

// When the main thread has exited, the process ends with its last other thread, which must not be
// one of ours.
void on_thread_end(void* sampler) {
  const Uncancelled uncancelled;
  if (sampler == g_of_main_thread) agent::store(g_main_thread_left, 1u);
  disarm();
  if (agent::load(g_main_thread_left) == 0 || any_armed()) return;
  end_waiting();
  pause_watch();
}

// The first frame of a sampled thread. Compiled with unwind tables, unlike the rest
// (CMakeLists.txt): the program's stacks go through it.
template <typename Result>
Result thread_main(void* argument) {
  auto* sampler = static_cast<ThreadSampler*>(argument);
  sampler->bounds.high = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + kAboveFirstFrame;
  sampler->bounds.low = sampler->bounds.high - sampler->bounds.low;
  const auto function = reinterpret_cast<Result (*)(void*)>(sampler->function);
  void* const value = sampler->argument;
  if (g_has_end_key) pthread_setspecific(g_end_key, sampler);
  {
    const Uncancelled uncancelled;
    arm(sampler, sampling_signal() != 0);
  }
  return function(value);
}

size_t stack_bytes(const pthread_attr_t* attributes) {
  size_t bytes = 0;
  return attributes != nullptr && pthread_attr_getstacksize(attributes, &bytes) == 0
             ? bytes
             : g_default_stack_bytes;
}

void find_default_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  pthread_attr_getstacksize(&attributes, &g_default_stack_bytes);
  pthread_attr_destroy(&attributes);
}

void on_fork() {
  remember_process();
  modules_after_fork();
  python_after_fork();
  waiting_after_fork();
  g_of_main_thread = this_sampler();
  g_main_thread_left = 0;
  g_is_forked = true;
  arm_again_in_child(sampling_signal() != 0);
  watch_again_in_child();
}

__attribute__((constructor)) void start_up() {
  const ErrnoKeeper keep;
  find_signal_calls();
  find_thread_calls();
  find_unsetenv();
  if (!prepare(sonde_find_agent())) return;
  prepare_waiting(sonde_find_agent());
  find_default_stack();
  // One of the first keys, whose values are in the thread's own memory, so that setting one never
  // allocates.
  g_has_end_key = pthread_key_create(&g_end_key, on_thread_end) == 0;
  pthread_atfork(end_idle_waiting, nullptr, on_fork);
  if (ThreadSampler* sampler = take_sampler()) {
    g_of_main_thread = sampler;
    if (g_has_end_key) pthread_setspecific(g_end_key, sampler);
    sampler->bounds.high = reinterpret_cast<uint64_t>(__libc_stack_end) + 64;
    sampler->bounds.low = sampler->bounds.high - (8 << 20);
    arm(sampler, sampling_signal() != 0);
  }
}

}  // namespace

}  // namespace sonde::cpu

using namespace sonde::cpu;

// Creates a thread that is not sampled, for other backends (base/helper_thread.h).
SONDE_EXPORT int sonde_create_thread(pthread_t* thread, const pthread_attr_t* attributes,
                                     void* (*function)(void*), void* argument) {
  return g_next.pthread_create.get()(thread, attributes, function, argument);
}

// Starts a sampled thread by a call `create(main, argument)`; nothing is sampled if it fails.
template <typename Result, typename Create>
static int create_sampled(Result (*function)(void*), void* argument, size_t stack, Create create) {
  // It may have been loaded meanwhile. A child has the lock of the list of libraries as another
  // thread of its parent may have held it.
  if (!g_is_forked && is_this_process()) look_for_python();
  ThreadSampler* sampler = prepared() ? take_sampler() : nullptr;
  if (sampler == nullptr) return create(function, argument);
  sampler->function = reinterpret_cast<void (*)()>(function);
  sampler->argument = argument;
  sampler->bounds.low = stack;
  let_wait(*sampler);
  const int result = create(thread_main<Result>, sampler);
  if (result == 0) return 0;
  sampler->waits = 0;
  give_back(sampler);
  return result;
}

SONDE_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                void* (*function)(void*), void* argument) {
  return create_sampled(function, argument, stack_bytes(attributes),
                        [&](void* (*main)(void*), void* with) {
                          return sonde_create_thread(thread, attributes, main, with);
                        });
}

// That of C11, which libc does not make from the other.
SONDE_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  return create_sampled(
      function, argument, g_default_stack_bytes,
      [&](thrd_start_t main, void* with) { return g_next.thrd_create.get()(thread, main, with); });
}

// A multi-threaded process may not change its user namespace, so our threads end before these
// calls.
template <typename Call>
static int without_our_threads(Call call) {
  const bool ours = prepared() && is_this_process();
  if (ours) end_waiting();
  const bool paused = ours && pause_watch();
  const int result = call();
  if (paused) resume_watch();
  return result;
}

SONDE_EXPORT int unshare(int flags) {
  return without_our_threads([flags] { return g_next.unshare.get()(flags); });
}

SONDE_EXPORT int setns(int fd, int type) {
  return without_our_threads([fd, type] { return g_next.setns.get()(fd, type); });
}

SONDE_EXPORT int dlclose(void* handle) {
  const int result = g_next.dlclose.get()(handle);
  forget_remembered();
  forget_modules();
  return result;
}
