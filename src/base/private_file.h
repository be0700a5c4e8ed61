// Files and folders that say what a program did: for their owner alone, whatever the umask says.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "base/unique_fd.h"

namespace sonde {

// Creates a file with mode 0600; `flags` as of open(), to which O_CREAT, O_EXCL and O_CLOEXEC are
// added. Invalid, with errno: it could not be made, or is there already.
inline UniqueFd create_private_file(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // Some file systems have no modes.
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
