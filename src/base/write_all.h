// write_all(): writes everything, whatever short writes and signals there are between.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace sonde {

// 0, or the errno for which the rest was not written.
inline int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace sonde
