// Computes, sleeps, and waits for a lock and for a pipe, MILLISECONDS each, in functions of their
// own. Prints, as JSON, the nanoseconds of wall time that each really took, and how many calls
// ended otherwise than they do undisturbed.
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cpu_clock.h"

#define APART __attribute__((noinline, noclone))

namespace {

int g_surprises = 0;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
int g_pipe[2];
int g_ms = 1000;

int64_t wall_ns() { return clock_ns(CLOCK_MONOTONIC); }

__attribute__((always_inline)) inline void pause_ms(int ms) {
  const timespec time = {ms / 1000, ms % 1000 * 1000000};
  if (nanosleep(&time, nullptr) != 0) ++g_surprises;
}

APART int64_t computes() {
  const int64_t begin = wall_ns();
  volatile uint64_t x = 1;
  while (wall_ns() - begin < int64_t{g_ms} * 1000000) {
    for (int i = 0; i < 20000; ++i) x = x * 6364136223846793005 + 1;
  }
  return wall_ns() - begin;
}

APART int64_t sleeps() {
  const int64_t begin = wall_ns();
  pause_ms(g_ms);
  return wall_ns() - begin;
}

void* holds_lock(void* is_held) {
  pthread_mutex_lock(&g_lock);
  __atomic_store_n(static_cast<int*>(is_held), 1, __ATOMIC_RELEASE);
  pause_ms(g_ms);
  pthread_mutex_unlock(&g_lock);
  return nullptr;
}

APART int64_t waits_for_lock() {
  int is_held = 0;
  pthread_t holder;
  pthread_create(&holder, nullptr, holds_lock, &is_held);
  while (__atomic_load_n(&is_held, __ATOMIC_ACQUIRE) == 0) sched_yield();
  const int64_t begin = wall_ns();
  if (pthread_mutex_lock(&g_lock) != 0) ++g_surprises;
  const int64_t took = wall_ns() - begin;
  pthread_mutex_unlock(&g_lock);
  pthread_join(holder, nullptr);
  return took;
}

void* writes_late(void*) {
  pause_ms(g_ms);
  if (write(g_pipe[1], "x", 1) != 1) ++g_surprises;
  return nullptr;
}

APART int64_t reads_pipe() {
  pthread_t writer;
  if (pipe(g_pipe) != 0) return 0;
  const int64_t begin = wall_ns();
  pthread_create(&writer, nullptr, writes_late, nullptr);
  char byte;
  if (read(g_pipe[0], &byte, 1) != 1) ++g_surprises;
  const int64_t took = wall_ns() - begin;
  pthread_join(writer, nullptr);
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) g_ms = atoi(argv[1]);
  const int64_t computed = computes(), slept = sleeps(), locked = waits_for_lock(),
                read = reads_pipe();
  printf(
      "{\"computes\": %lld, \"sleeps\": %lld, \"waits_for_lock\": %lld, \"reads_pipe\": %lld, "
      "\"surprises\": %d}\n",
      static_cast<long long>(computed), static_cast<long long>(slept),
      static_cast<long long>(locked), static_cast<long long>(read), g_surprises);
  return g_surprises != 0;
}
