// What the agent needs from the system, without the heap and without changing errno.
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "agent/memory_calls.h"
#include "base/errno_keeper.h"
#include "base/uncancelled.h"
#include "wire/clocks.h"

namespace sonde::agent {

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

// Keeps later stores after earlier ones. A release store would not do: later stores may pass it.
inline void keep_stores_behind() { __atomic_thread_fence(__ATOMIC_RELEASE); }

// Zeroed private memory, or nullptr.
inline void* map_memory(uint64_t bytes) {
  void* memory =
      kernel::map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// The status of an open file, or of a path, by a raw system call: glibc 2.33 renamed libc's
// functions for this.
inline bool file_status(int fd, const char* path, struct stat& status) {
  return syscall(SYS_newfstatat, fd, path, &status, *path == '\0' ? AT_EMPTY_PATH : 0) == 0;
}

inline void relax() {
#ifdef __x86_64__
  _mm_pause();
#endif
}

// A lock with a bounded wait: a thread of the traced program must never hang in the agent. For slow
// paths only.
class BoundedLock {
 public:
  // How long to wait. A holder that is preempted by other programs, or that forks a large process
  // meanwhile, takes tenths of a second.
  enum class Patience : int64_t { kShort = 100'000'000, kLong = 2'000'000'000 };  // ns
  constexpr BoundedLock() = default;
  explicit constexpr BoundedLock(Patience patience) : patience_(patience) {}

  bool try_acquire() { return __atomic_exchange_n(&held_, 1, __ATOMIC_ACQUIRE) == 0; }
  bool acquire() {
    for (int i = 0; i < 100; ++i) {
      if (try_acquire()) return got();
      relax();
    }
    // After one timeout the lock may never be released: later waits are shorter.
    const auto patience = load(in_vain_) != 0 ? Patience::kShort : patience_;
    // Measured by the clock: on a busy machine each pause may take milliseconds.
    const int64_t deadline = clock_ns(CLOCK_MONOTONIC) + static_cast<int64_t>(patience);
    do {
      if (try_acquire()) return got();
      const timespec pause = {0, 50000};
      sleep_uncancelled(pause);
    } while (clock_ns(CLOCK_MONOTONIC) < deadline);
    store(in_vain_, 1);
    return false;  // the holder was killed, is stopped, or is this very thread
  }
  void release() { __atomic_store_n(&held_, 0, __ATOMIC_RELEASE); }
  void reset() {
    store(in_vain_, 0);
    store(held_, 0);
  }

 private:
  bool got() {
    if (load(in_vain_) != 0) store(in_vain_, 0);
    return true;
  }

  Patience patience_ = Patience::kShort;
  int held_ = 0;
  int in_vain_ = 0;
};

}  // namespace sonde::agent
