// The libc functions that query a path or descriptor: they answer for the tree, and show its device
// files as devices.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>

#include "driver/environment.h"
#include "driver/hooks.h"
#include "driver/real.h"
#include "tree/layout.h"

extern "C" {
char* __realpath_chk(const char* path, char* out, size_t size);
ssize_t __readlink_chk(const char* path, char* out, size_t bytes, size_t size);
int __xstat(int version, const char* path, struct stat* out);
int __xstat64(int version, const char* path, struct stat64* out);
int __lxstat(int version, const char* path, struct stat* out);
int __lxstat64(int version, const char* path, struct stat64* out);
int __fxstat(int version, int fd, struct stat* out);
int __fxstat64(int version, int fd, struct stat64* out);
}

namespace softgpu {
namespace {

constexpr unsigned kDrmMajor = 226, kKfdMajor = 511;

bool is_device(DeviceFile file) {
  return file.kind == DeviceFile::kKfd || file.kind == DeviceFile::kRender ||
         file.kind == DeviceFile::kCard;
}

unsigned major_of(DeviceFile file) { return file.kind == DeviceFile::kKfd ? kKfdMajor : kDrmMajor; }

unsigned minor_of(DeviceFile file) {
  if (file.kind == DeviceFile::kKfd) return 0;
  return file.gpu + (file.kind == DeviceFile::kRender ? kFirstRenderMinor : 0);
}

template <typename Stat>
void show_device(DeviceFile file, Stat* out) {
  if (!is_device(file)) return;
  out->st_mode = S_IFCHR | 0666;
  out->st_rdev = makedev(major_of(file), minor_of(file));
  out->st_size = 0;
}

template <typename Stat, typename Real>
int stat_path(const char* path, Stat* out, Real real) {
  const TreePath place(path);
  const int result = real(place.get());
  if (result == 0 && place.redirected()) show_device(device_of_path(path), out);
  return result;
}

template <typename Stat>
int stat_fd(int fd, Stat* out, int result) {
  if (result == 0) show_device(fd_table().find(fd), out);
  return result;
}

// Hides the tree's place from the program.
char* without_tree(char* path) {
  const Environment& environment = Environment::get();
  if (path == nullptr || !environment.active()) return path;
  const std::string& tree = environment.tree();
  if (std::strncmp(path, tree.c_str(), tree.size()) == 0) {
    std::memmove(path, path + tree.size(), std::strlen(path + tree.size()) + 1);
  }
  return path;
}

}  // namespace
}  // namespace softgpu

using softgpu::stat_fd;
using softgpu::stat_path;
using softgpu::TreePath;

#define STAT_PATH(name, type)                                                       \
  EXPORT int name(const char* path, struct type* out) {                             \
    return stat_path(path, out, [&](const char* p) { return REAL(name)(p, out); }); \
  }
STAT_PATH(stat, stat)
STAT_PATH(stat64, stat64)
STAT_PATH(lstat, stat)
STAT_PATH(lstat64, stat64)

#define XSTAT_PATH(name, type)                                                               \
  EXPORT int name(int version, const char* path, struct type* out) {                         \
    return stat_path(path, out, [&](const char* p) { return REAL(name)(version, p, out); }); \
  }
XSTAT_PATH(__xstat, stat)
XSTAT_PATH(__xstat64, stat64)
XSTAT_PATH(__lxstat, stat)
XSTAT_PATH(__lxstat64, stat64)

EXPORT int fstatat(int folder, const char* path, struct stat* out, int flags) {
  return stat_path(path, out, [&](const char* p) { return REAL(fstatat)(folder, p, out, flags); });
}

EXPORT int fstatat64(int folder, const char* path, struct stat64* out, int flags) {
  return stat_path(path, out,
                   [&](const char* p) { return REAL(fstatat64)(folder, p, out, flags); });
}

EXPORT int fstat(int fd, struct stat* out) { return stat_fd(fd, out, REAL(fstat)(fd, out)); }
EXPORT int fstat64(int fd, struct stat64* out) { return stat_fd(fd, out, REAL(fstat64)(fd, out)); }

EXPORT int __fxstat(int version, int fd, struct stat* out) {
  return stat_fd(fd, out, REAL(__fxstat)(version, fd, out));
}

EXPORT int __fxstat64(int version, int fd, struct stat64* out) {
  return stat_fd(fd, out, REAL(__fxstat64)(version, fd, out));
}

EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* out) {
  const TreePath place(path);
  const int result = REAL(statx)(folder, place.get(), flags, mask, out);
  if (result != 0 || !place.redirected()) return result;
  const softgpu::DeviceFile file = softgpu::device_of_path(path);
  if (softgpu::is_device(file)) {
    out->stx_mode = S_IFCHR | 0666;
    out->stx_rdev_major = softgpu::major_of(file);
    out->stx_rdev_minor = softgpu::minor_of(file);
  }
  return result;
}

EXPORT int access(const char* path, int mode) { return REAL(access)(TreePath(path).get(), mode); }

EXPORT int euidaccess(const char* path, int mode) {
  return REAL(euidaccess)(TreePath(path).get(), mode);
}

EXPORT int faccessat(int folder, const char* path, int mode, int flags) {
  return REAL(faccessat)(folder, TreePath(path).get(), mode, flags);
}

EXPORT int chdir(const char* path) { return REAL(chdir)(TreePath(path).get()); }

EXPORT ssize_t readlink(const char* path, char* out, size_t bytes) {
  return REAL(readlink)(TreePath(path).get(), out, bytes);
}

EXPORT ssize_t __readlink_chk(const char* path, char* out, size_t bytes, size_t size) {
  return REAL(__readlink_chk)(TreePath(path).get(), out, bytes, size);
}

EXPORT ssize_t readlinkat(int folder, const char* path, char* out, size_t bytes) {
  return REAL(readlinkat)(folder, TreePath(path).get(), out, bytes);
}

EXPORT char* realpath(const char* path, char* out) {
  return softgpu::without_tree(REAL(realpath)(TreePath(path).get(), out));
}

EXPORT char* __realpath_chk(const char* path, char* out, size_t size) {
  return softgpu::without_tree(REAL(__realpath_chk)(TreePath(path).get(), out, size));
}

EXPORT char* canonicalize_file_name(const char* path) {
  return softgpu::without_tree(REAL(canonicalize_file_name)(TreePath(path).get()));
}
