// Files and folders that reveal what a program did: only for their owner, whatever the umask.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "base/unique_fd.h"

namespace sonde {

// Creates a file with mode 0600; `flags` as for open(), which also gets O_CREAT, O_EXCL and
// O_CLOEXEC. Invalid, with errno, if it could not be made or exists already.
inline UniqueFd create_private_file(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // May fail: some file systems have no modes.
  if (fd.valid()) (void)!::fchmod(fd.get(), 0600);
  return fd;
}

// The same for a folder, with mode 0700.
inline bool create_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) return false;
  (void)!::chmod(path.c_str(), 0700);
  return true;
}

}  // namespace sonde
