// Copies memory that another thread may unmap at any time: the kernel fails where a load faults.
// Safe in signal handlers.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/errno_keeper.h"

namespace sonde::cpu {

inline bool copy_carefully(void* to, uint64_t from, uint64_t bytes) {
  const iovec local = {to, bytes};
  const iovec remote = {reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

// Whether copy_carefully works; a container may deny it.
inline bool can_copy() {
  uint64_t word = 0, copied = 0;
  return copy_carefully(&copied, reinterpret_cast<uint64_t>(&word), sizeof word);
}

// The kernel reads the signal set before it rejects the invalid `how`: the cheapest system call
// that fails instead of faulting, and one that every sandbox permits.
inline bool is_there(uint64_t address) {
  constexpr int kNoSuchChange = -1;
  const ErrnoKeeper keep;
  syscall(SYS_rt_sigprocmask, kNoSuchChange, address & ~uint64_t{7}, nullptr, 8);
  return errno == EINVAL;
}

// Who can unmap a module while it is read: nobody if the calling thread is running its code.
enum class Stay : uint8_t { kCertain, kMayVanish };

inline bool copy(Stay stay, void* to, uint64_t from, uint64_t bytes) {
  if (stay == Stay::kMayVanish) return copy_carefully(to, from, bytes);
  memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return true;
}

// Copies a string and its final zero; false if it is longer than the room.
inline bool copy_text(Stay stay, char* to, size_t room, uint64_t from) {
  if (stay == Stay::kCertain) {
    const size_t length = strnlen(reinterpret_cast<const char*>(from), room);
    memcpy(to, reinterpret_cast<const char*>(from), length < room ? length + 1 : 0);
    return length < room;
  }
  constexpr uint64_t kPage = 4096;
  while (room != 0) {
    const uint64_t in_page = kPage - from % kPage;
    const size_t bytes = room < in_page ? room : in_page;
    if (!copy_carefully(to, from, bytes)) return false;
    if (memchr(to, '\0', bytes) != nullptr) return true;
    to += bytes;
    from += bytes;
    room -= bytes;
  }
  return false;
}

}  // namespace sonde::cpu
