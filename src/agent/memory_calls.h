// mmap, munmap and madvise as raw system calls. The sampler calls these in a signal handler, which
// may have interrupted a library that is patching libc's functions: UCX, which Open MPI loads,
// temporarily makes the first bytes of munmap jump to themselves, and a handler that called it
// would never return.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace sonde::kernel {

inline void* map(void* at, size_t bytes, int protection, int flags, int fd, long offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}
inline int unmap(void* memory, size_t bytes) {
  return static_cast<int>(syscall(SYS_munmap, memory, bytes));
}
inline int advise(void* memory, size_t bytes, int advice) {
  return static_cast<int>(syscall(SYS_madvise, memory, bytes, advice));
}

}  // namespace sonde::kernel
