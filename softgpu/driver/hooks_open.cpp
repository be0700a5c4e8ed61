// The libc functions that open files by path.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "driver/environment.h"
#include "driver/hooks.h"
#include "driver/real.h"
#include "tree/layout.h"

// libc's fortified variants, which no header declares here.
extern "C" {
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);
}

namespace softgpu {

DeviceFile device_of_path(const char* path) {
  constexpr std::string_view kRenderNode = "/dev/dri/renderD", kCardNode = "/dev/dri/card";
  std::string_view text = path;
  if (text == "/dev/kfd") return {DeviceFile::kKfd};
  char resolved[PATH_MAX];
  if (text.starts_with("/dev/dri/by-path/")) {
    if (REAL(realpath)(TreePath(path).get(), resolved) == nullptr) return {};
    text = resolved;
    text.remove_prefix(std::min(text.size(), Environment::get().tree().size()));
  }
  const auto number = [&](size_t skip, uint32_t first) {
    const int value = std::atoi(std::string(text.substr(skip)).c_str());
    return static_cast<uint8_t>(value - static_cast<int>(first));
  };
  if (text.starts_with(kRenderNode)) {
    return {DeviceFile::kRender, number(kRenderNode.size(), kFirstRenderMinor)};
  }
  if (text.starts_with(kCardNode)) return {DeviceFile::kCard, number(kCardNode.size(), 0)};
  return {};
}

namespace {

// A file with this content that can be read like the real one.
int open_content(const std::string& content) {
  const int fd = memfd_create("softgpu-value", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (::write(fd, content.data(), content.size()) < 0 || lseek(fd, 0, SEEK_SET) != 0) {
    REAL(close)(fd);
    return -1;
  }
  return fd;
}

void prune_if_listing(std::string_view path) {
  if (path.ends_with("/proc") || path.ends_with("/proc/")) prune_processes();
}

template <typename Open>
int open_path(const char* path, int flags, Open real) {
  const TreePath place(path);
  if (!place.redirected()) {
    const int fd = real(path);
    if (fd >= 0) fd_table().clear(fd);  // the number may have been closed without our notice
    return fd;
  }
  prune_if_listing(path);
  if (const DeviceFile device = device_of_path(path); device.kind != DeviceFile::kNone) {
    if (REAL(access)(place.get(), F_OK) != 0) return -1;
    return open_device(device, flags);
  }
  if ((flags & O_ACCMODE) == O_RDONLY && (flags & (O_DIRECTORY | O_PATH)) == 0) {
    if (const auto content = live_content(place.get())) return open_content(*content);
  }
  return real(place.get());
}

template <typename Open>
FILE* open_stream(const char* path, const char* mode, Open real) {
  const TreePath place(path);
  if (place.redirected() && mode != nullptr && mode[0] == 'r' &&
      std::strchr(mode, '+') == nullptr) {
    if (const auto content = live_content(place.get())) {
      const int fd = open_content(*content);
      return fd < 0 ? nullptr : fdopen(fd, mode);
    }
  }
  return real(place.get(), mode);
}

}  // namespace
}  // namespace softgpu

using softgpu::open_path;
using softgpu::open_stream;

// `mode` is passed only if the file may be created; otherwise this reads garbage that is not used.
#define TAKE_MODE(flags)                    \
  va_list list;                             \
  va_start(list, flags);                    \
  const mode_t mode = va_arg(list, mode_t); \
  va_end(list);

EXPORT int open(const char* path, int flags, ...) {
  TAKE_MODE(flags)
  return open_path(path, flags, [&](const char* p) { return REAL(open)(p, flags, mode); });
}

EXPORT int open64(const char* path, int flags, ...) {
  TAKE_MODE(flags)
  return open_path(path, flags, [&](const char* p) { return REAL(open64)(p, flags, mode); });
}

EXPORT int openat(int folder, const char* path, int flags, ...) {
  TAKE_MODE(flags)
  return open_path(path, flags,
                   [&](const char* p) { return REAL(openat)(folder, p, flags, mode); });
}

EXPORT int openat64(int folder, const char* path, int flags, ...) {
  TAKE_MODE(flags)
  return open_path(path, flags,
                   [&](const char* p) { return REAL(openat64)(folder, p, flags, mode); });
}

EXPORT int __open_2(const char* path, int flags) {
  return open_path(path, flags, [&](const char* p) { return REAL(__open_2)(p, flags); });
}

EXPORT int __open64_2(const char* path, int flags) {
  return open_path(path, flags, [&](const char* p) { return REAL(__open64_2)(p, flags); });
}

EXPORT int __openat_2(int folder, const char* path, int flags) {
  return open_path(path, flags, [&](const char* p) { return REAL(__openat_2)(folder, p, flags); });
}

EXPORT int __openat64_2(int folder, const char* path, int flags) {
  return open_path(path, flags,
                   [&](const char* p) { return REAL(__openat64_2)(folder, p, flags); });
}

EXPORT FILE* fopen(const char* path, const char* mode) {
  return open_stream(path, mode, REAL(fopen));
}

EXPORT FILE* fopen64(const char* path, const char* mode) {
  return open_stream(path, mode, REAL(fopen64));
}

EXPORT DIR* opendir(const char* path) {
  const softgpu::TreePath place(path);
  if (place.redirected()) softgpu::prune_if_listing(path);
  return REAL(opendir)(place.get());
}

EXPORT int scandir(const char* path, struct dirent*** list, int (*filter)(const struct dirent*),
                   int (*compare)(const struct dirent**, const struct dirent**)) {
  return REAL(scandir)(softgpu::TreePath(path).get(), list, filter, compare);
}

EXPORT int scandir64(const char* path, struct dirent64*** list,
                     int (*filter)(const struct dirent64*),
                     int (*compare)(const struct dirent64**, const struct dirent64**)) {
  return REAL(scandir64)(softgpu::TreePath(path).get(), list, filter, compare);
}

// rocm-smi keeps a lock for each card here; those of the software GPUs belong to the session.
EXPORT int shm_open(const char* name, int flags, mode_t mode) {
  const auto& environment = softgpu::Environment::get();
  if (environment.active() && std::string_view(name).starts_with("/rocm_smi")) {
    const std::string path = environment.tree() + "/dev/shm" + name;
    return REAL(open)(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode);
  }
  return REAL(shm_open)(name, flags, mode);
}
