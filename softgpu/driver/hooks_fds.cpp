// The libc functions on file descriptors, and process-wide state.
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

#include "compute/fault.h"
#include "driver/driver.h"
#include "driver/hooks.h"
#include "driver/kfd.h"
#include "driver/real.h"

namespace softgpu {

FdTable& fd_table() {
  // Zero-initialised, so it needs no constructor and exists before any code runs; pages for
  // descriptor numbers that do not occur are never touched.
  static constinit FdTable table;
  return table;
}

void keep_open(int fd) { fd_table().set(fd, {DeviceFile::kInternal}); }

int keep_away(int fd) {
  const int away = REAL(fcntl)(fd, F_DUPFD_CLOEXEC, 512);
  if (away >= 0) REAL(close)(fd);
  keep_open(away >= 0 ? away : fd);
  return away >= 0 ? away : fd;
}

void close_kept(int fd) {
  fd_table().clear(fd);
  REAL(close)(fd);
}

int open_device(DeviceFile file, int flags) {
  if (file.kind != DeviceFile::kKfd && file.gpu >= Environment::get().config().gpus.size()) {
    errno = ENODEV;
    return -1;
  }
  Driver* driver = Driver::get_or_make();
  if (driver == nullptr) return -1;
  const int fd =
      REAL(fcntl)(driver->memory_file(), (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, 3);
  if (fd >= 0 && !fd_table().set(fd, file)) {
    REAL(close)(fd);
    errno = EMFILE;
    return -1;
  }
  return fd;
}

namespace {

// After fork() the child has its parent's memory but neither its threads nor its devices.
void after_fork_in_child() {
  if (Driver* driver = Driver::get()) {
    REAL(close)(driver->memory_file());
    driver->memory().buffers().leave_to_parent();
    Driver::forget();
  }
  fd_table().become_child();
  Environment::get().become_child();
  leave_faults_to_parent();
}

__attribute__((constructor)) void begin() {
  if (!Environment::get().active()) return;
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
}

__attribute__((destructor)) void end() { hide_process(); }

// Replaces the program's descriptor and offset by those of the memory that they stand for.
void find_memory(Driver& driver, DeviceFile::Kind kind, int& fd, off_t& offset) {
  std::optional<Buffers::Place> place;
  Buffers& buffers = driver.memory().buffers();
  if (kind == DeviceFile::kKfd || kind == DeviceFile::kRender || kind == DeviceFile::kCard) {
    place = buffers.foreign_place(static_cast<uint64_t>(offset));
  } else if (kind == DeviceFile::kNone) {
    place = buffers.shared_place(fd, static_cast<uint64_t>(offset));
  }
  if (!place) return;
  fd = place->fd;
  offset = static_cast<off_t>(place->offset);
}

int answer(int error) {
  if (error <= 0) return -error;
  errno = error;
  return -1;
}

}  // namespace
}  // namespace softgpu

using softgpu::DeviceFile;
using softgpu::fd_table;

EXPORT int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  const DeviceFile file = fd_table().find(fd);
  softgpu::Driver* driver = softgpu::Driver::get();
  if (driver != nullptr && file.kind == DeviceFile::kKfd && _IOC_TYPE(request) == 'K') {
    return softgpu::answer(softgpu::kfd_ioctl(*driver, request, argument));
  }
  if (driver != nullptr && (file.kind == DeviceFile::kRender || file.kind == DeviceFile::kCard) &&
      _IOC_TYPE(request) == 'd') {
    return softgpu::answer(softgpu::drm_ioctl(*driver, file.gpu, request, argument));
  }
  return REAL(ioctl)(fd, request, argument);
}

namespace {

// Memory of another process is in another file than the descriptor's.
void* map_file(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  softgpu::Driver* const driver = softgpu::Driver::get();
  if (driver != nullptr && (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0) {
    driver->memory().freed().give_up(reinterpret_cast<uint64_t>(address), bytes,
                                     (flags & MAP_FIXED) != 0);
  }
  if (fd >= 0 && (flags & MAP_ANONYMOUS) == 0 && (flags & MAP_TYPE) != MAP_PRIVATE) {
    if (driver != nullptr) {
      softgpu::find_memory(*driver, fd_table().find(fd).kind, fd, offset);
    }
  }
  // Not through libc's function, which allocators call before it could be looked up.
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
}

}  // namespace

EXPORT void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return map_file(address, bytes, protection, flags, fd, offset);
}

EXPORT void* mmap64(void* address, size_t bytes, int protection, int flags, int fd,
                    off64_t offset) {
  return map_file(address, bytes, protection, flags, fd, offset);
}

EXPORT int munmap(void* address, size_t bytes) {
  softgpu::Driver* const driver = softgpu::Driver::get();
  if (driver != nullptr &&
      driver->memory().freed().keep(reinterpret_cast<uint64_t>(address), bytes)) {
    return 0;
  }
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}

EXPORT int close(int fd) {
  if (fd_table().find(fd).kind == DeviceFile::kInternal) {
    errno = EBADF;  // as if the descriptor did not exist
    return -1;
  }
  fd_table().clear(fd);
  return REAL(close)(fd);
}

EXPORT int dup(int fd) {
  const int made = REAL(dup)(fd);
  if (made >= 0) fd_table().copy(fd, made);
  return made;
}

EXPORT int dup2(int fd, int wanted) {
  const int made = REAL(dup2)(fd, wanted);
  if (made >= 0 && made != fd) fd_table().copy(fd, made);
  return made;
}

EXPORT int dup3(int fd, int wanted, int flags) {
  const int made = REAL(dup3)(fd, wanted, flags);
  if (made >= 0) fd_table().copy(fd, made);
  return made;
}

namespace {

int fcntl_and_note(decltype(::fcntl)& real, int fd, int command, void* argument) {
  const int made = real(fd, command, argument);
  if (made >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) fd_table().copy(fd, made);
  return made;
}

}  // namespace

#define DEFINE_FCNTL(name)                                    \
  EXPORT int name(int fd, int command, ...) {                 \
    va_list list;                                             \
    va_start(list, command);                                  \
    void* argument = va_arg(list, void*);                     \
    va_end(list);                                             \
    return fcntl_and_note(REAL(name), fd, command, argument); \
  }
DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)
