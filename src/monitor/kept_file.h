// A small file of /proc or /sys that is read again and again: opened once, read from its start each
// time, into a buffer that is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace sonde::monitor {

class KeptFile {
 public:
  KeptFile() = default;
  explicit KeptFile(std::string path) : path_(std::move(path)) {}

  // The whole content, valid until the next call; nullopt if it cannot be read: see error().
  std::optional<std::string_view> read();
  // The same as one whole number.
  std::optional<int64_t> number();
  int error() const { return error_; }  // errno of the last read()
  const std::string& path() const { return path_; }

 private:
  std::string path_, buffer_;
  UniqueFd fd_;
  int error_ = 0;
};

// A file that is read once.
std::optional<std::string> read_file(const std::string& path, int* error = nullptr);

// The same, or "" if it cannot be read: its process may have ended.
std::string read_text(const std::string& path);

// Takes the next word, of blanks and tabs; "" at the end.
std::string_view take_word(std::string_view& text);
std::string_view take_line(std::string_view& text);
// A number at the beginning; 0 if there is none.
int64_t leading_number(std::string_view text);

}  // namespace sonde::monitor
