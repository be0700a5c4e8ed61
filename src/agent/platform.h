// What the agent needs from the system, without the heap and without touching errno.
#pragma once

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "wire/chunk.h"

namespace sonde::agent {

// The program's errno survives whatever we do.
class ErrnoKeeper {
 public:
  ErrnoKeeper() : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

template <typename T>
T load(const T& value) {
  return std::atomic_ref(const_cast<T&>(value)).load(std::memory_order_relaxed);
}
template <typename T>
T load_acquire(const T& value) {
  return std::atomic_ref(const_cast<T&>(value)).load(std::memory_order_acquire);
}
template <typename T, typename V>
void store(T& target, V value) {
  std::atomic_ref(target).store(static_cast<T>(value), std::memory_order_relaxed);
}
template <typename T, typename V>
void store_release(T& target, V value) {
  std::atomic_ref(target).store(static_cast<T>(value), std::memory_order_release);
}

inline int64_t clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

inline uint64_t read_ticks(wire::ClockKind kind) {
#ifdef __x86_64__
  if (kind == wire::ClockKind::kTsc) return __rdtsc();
#endif
  (void)kind;
  return static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC));
}

inline wire::ClockReading read_clocks(wire::ClockKind kind) {
  wire::ClockReading reading;
  reading.ticks_before = read_ticks(kind);
  reading.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  reading.ticks_after = read_ticks(kind);
  reading.raw_ns = clock_ns(CLOCK_MONOTONIC_RAW);
  reading.realtime_ns = clock_ns(CLOCK_REALTIME);
  reading.boottime_ns = clock_ns(CLOCK_BOOTTIME);
  return reading;
}

// Zeroed private memory, or nullptr.
inline void* map_memory(uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

inline void relax() {
#ifdef __x86_64__
  _mm_pause();
#endif
}

// A lock that is tried for a bounded time only: a thread of the traced program must never hang on
// us. Taken on slow paths alone.
class BoundedLock {
 public:
  bool acquire() {
    for (int i = 0; i < 2000; ++i) {
      if (__atomic_exchange_n(&held_, 1, __ATOMIC_ACQUIRE) == 0) return true;
      if (i < 100) {
        relax();
      } else {
        const timespec pause = {0, 50000};
        nanosleep(&pause, nullptr);
      }
    }
    return false;  // 0.1 s: the holder was killed or is stopped
  }
  void release() { __atomic_store_n(&held_, 0, __ATOMIC_RELEASE); }
  void reset() { __atomic_store_n(&held_, 0, __ATOMIC_RELAXED); }

 private:
  int held_ = 0;
};

}  // namespace sonde::agent
