#include "monitor/kept_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/strings.h"

namespace sonde::monitor {

namespace {

constexpr size_t kFirst = 4096;
constexpr size_t kMost = 8 << 20;  // of a file that should be small

// 0 or errno. The text is at the beginning of `buffer`.
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

}  // namespace

std::optional<std::string_view> KeptFile::read() {
  if (!fd_.valid()) {
    fd_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd_.valid()) {
      error_ = errno;
      return std::nullopt;
    }
  }
  size_t size = 0;
  error_ = read_all(fd_.get(), buffer_, size);
  if (error_ != 0) {
    fd_.reset();  // it may be another file of that name the next time
    return std::nullopt;
  }
  return std::string_view(buffer_).substr(0, size);
}

std::optional<int64_t> KeptFile::number() {
  const auto text = read();
  if (!text) return std::nullopt;
  const auto value = parse_int(trim(*text));
  if (!value) error_ = ENODATA;
  return value;
}

std::optional<std::string> read_file(const std::string& path, int* error) {
  KeptFile file(path);
  const auto text = file.read();
  if (error != nullptr) *error = file.error();
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::string read_text(const std::string& path) { return read_file(path).value_or(""); }

std::string_view take_word(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

int64_t leading_number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace sonde::monitor
