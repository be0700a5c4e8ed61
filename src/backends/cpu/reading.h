// Reads an interpreter's memory, which may hold anything while the interpreter changes it.
#pragma once

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/errno_keeper.h"

namespace sonde::cpu {

// Of the walk that goes on: whether what is read is another thread's, and may be gone any time; and
// the pages that were found to be there. On the stack of the walk, as loaders keep little
// thread-local storage for libraries that come late.
class Reading {
 public:
  explicit Reading(bool another) : is_of_another(another), before_(t_current) { t_current = this; }
  ~Reading() { t_current = before_; }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  static Reading* current() { return t_current; }
  // Whether all of it lies in a page that was found to be there.
  bool knows(uint64_t address, uint64_t bytes) const {
    const uint64_t page = address / 4096;
    return page != 0 && pages[page % 64] == page && (address + bytes - 1) / 4096 == page;
  }

  const bool is_of_another;
  uint64_t pages[64] = {};

 private:
  static constinit inline thread_local Reading* t_current = nullptr;
  Reading* const before_;
};

inline bool reads_another() {
  return Reading::current() != nullptr && Reading::current()->is_of_another;
}

// The kernel reads a set of signals from there before it finds that it knows no such change of one:
// the cheapest system call that fails instead of faulting, and one that every sandbox permits.
inline bool is_readable_page(uint64_t address) {
  constexpr int kNoSuchChange = -1;
  const uint64_t page = address / 4096;
  if (page == 0) return false;
  uint64_t unknown = 0;
  Reading* const reading = Reading::current();
  uint64_t& known = reading != nullptr ? reading->pages[page % 64] : unknown;
  if (known == page) return true;
  const ErrnoKeeper keep;
  syscall(SYS_rt_sigprocmask, kNoSuchChange, address & ~uint64_t{7}, nullptr, 8);
  if (errno != EINVAL) return false;
  known = page;
  return true;
}

inline bool is_readable(uint64_t address, uint64_t bytes) {
  const uint64_t last = address + bytes - 1;
  for (uint64_t at = address; at < last; at = (at | 4095) + 1) {
    if (!is_readable_page(at)) return false;
  }
  return is_readable_page(last);
}

inline bool copy_carefully(void* to, uint64_t from, uint64_t bytes) {
  const iovec local = {to, bytes};
  const iovec remote = {reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

template <typename T>
T at(uint64_t object, uint64_t offset) {
  T value = {};
  const uint64_t address = object + offset;
  const Reading* const reading = Reading::current();
  const bool is_known = reading != nullptr && reading->knows(address, sizeof value);
  if (!is_known && reads_another()) {
    if (!copy_carefully(&value, address, sizeof value)) value = {};
  } else if (is_known || is_readable(address, sizeof value)) {
    memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  }
  return value;
}

}  // namespace sonde::cpu
