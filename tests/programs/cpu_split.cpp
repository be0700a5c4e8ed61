// Burns CPU time in three functions with a split that it measures itself: 60, 30 and 10 of each
// hundred rounds, in THREADS threads for SECONDS of each one's CPU time. Prints, as JSON, the
// nanoseconds that each function really took, and the time of the clock. With a third argument, the
// functions are those of that shared library (cpu_split_burn.c), at addresses that only it knows.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu_clock.h"

#define BURN_NOINLINE __attribute__((noinline, noclone))

using Burn = uint64_t (*)(uint64_t);

// By their names the tests ask for them. Different work, so that the compiler cannot make one
// function of them.
extern "C" {
BURN_NOINLINE uint64_t burn_sixty(uint64_t rounds) {
  volatile uint64_t x = 1;
  for (uint64_t i = 0; i < rounds; ++i) x = x * 6364136223846793005 + 1;
  return x;
}
BURN_NOINLINE uint64_t burn_thirty(uint64_t rounds) {
  volatile uint64_t x = 3;
  for (uint64_t i = 0; i < rounds; ++i) x = (x ^ i) * 0x9E3779B97F4A7C15;
  return x;
}
BURN_NOINLINE uint64_t burn_ten(uint64_t rounds) {
  volatile uint64_t x = 7;
  for (uint64_t i = 0; i < rounds; ++i) x = (x + i) * 0xD6E8FEB86659FD93;
  return x;
}
}  // extern "C"

namespace {

Burn g_burn[3] = {burn_sixty, burn_thirty, burn_ten};
int g_ms = 0;
int64_t g_spent[3];

// Each slice is split again, so that no share depends on where the time ends. Slices are 5 to 15 ms
// long, so that no clock of a fixed period can stay in step with them.
BURN_NOINLINE void* work(void*) {
  const int64_t end = cpu_ns() + int64_t{g_ms} * 1000000;
  static const int64_t kShares[3] = {600, 300, 100};
  int64_t spent[3] = {};
  uint64_t random = static_cast<uint64_t>(end);
  while (cpu_ns() < end) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const int64_t scale = 5000 + static_cast<int64_t>((random >> 33) % 10000);
    for (int k = 0; k < 3; ++k) {
      const int64_t begin = cpu_ns(), until = begin + kShares[k] * scale;
      while (cpu_ns() < until) g_burn[k](20000);
      spent[k] += cpu_ns() - begin;
    }
  }
  for (int k = 0; k < 3; ++k) __atomic_fetch_add(&g_spent[k], spent[k], __ATOMIC_RELAXED);
  return nullptr;
}

bool load_burners(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  const auto get = library != nullptr
                       ? reinterpret_cast<Burn (*)(int)>(dlsym(library, "split_burner"))
                       : nullptr;
  if (get == nullptr) return false;
  for (int k = 0; k < 3; ++k) g_burn[k] = get(k);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  g_ms = argc > 1 ? atoi(argv[1]) : 1000;
  const int threads = argc > 2 ? atoi(argv[2]) : 0;  // 0: the main thread
  if (argc > 3 && !load_burners(argv[3])) {
    fprintf(stderr, "cpu_split: cannot load %s\n", argv[3]);
    return 2;
  }
  const int64_t begin = clock_ns(CLOCK_MONOTONIC);
  pthread_t started[64];
  for (int i = 0; i < threads && i < 64; ++i) pthread_create(&started[i], nullptr, work, nullptr);
  for (int i = 0; i < threads && i < 64; ++i) pthread_join(started[i], nullptr);
  if (threads == 0) work(nullptr);
  printf("{\"sixty\": %ld, \"thirty\": %ld, \"ten\": %ld, \"threads\": %d, \"wall\": %ld}\n",
         g_spent[0], g_spent[1], g_spent[2], threads == 0 ? 1 : threads,
         clock_ns(CLOCK_MONOTONIC) - begin);
  return 0;
}
