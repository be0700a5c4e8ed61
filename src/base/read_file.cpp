#include "base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace sonde {

namespace {

constexpr size_t kFirst = 4096;
constexpr size_t kMost = 8 << 20;

}  // namespace

int read_all(int fd, std::string& buffer, size_t& size) {
  size = 0;
  if (buffer.size() < kFirst) buffer.resize(kFirst);
  for (;;) {
    const ssize_t got =
        ::pread(fd, buffer.data() + size, buffer.size() - size, static_cast<off_t>(size));
    if (got < 0) return errno;
    size += static_cast<size_t>(got);
    // The kernel fills what it is given, unless there is no more.
    if (got == 0 || size >= kMost) return 0;
    if (size == buffer.size()) buffer.resize(2 * size);
  }
}

std::optional<std::string> read_file(const std::string& path, int* error) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  size_t size = 0;
  const int failure = fd.valid() ? read_all(fd.get(), text, size) : errno;
  if (error != nullptr) *error = failure;
  if (failure != 0) return std::nullopt;
  text.resize(size);
  return text;
}

}  // namespace sonde
