// A file as memory: columns that are too many to be anonymous memory. Used by src/timeline and
// src/serve.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sonde::timeline {

class MappedFile {
 public:
  MappedFile() = default;
  // The whole file; an empty one maps no memory.
  static Result<MappedFile> map(int fd, bool writable, const std::string& path);
  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile();

  size_t size() const { return size_; }
  char* bytes() const { return bytes_; }
  template <typename T>
  std::span<T> as(size_t offset, size_t count) const {
    return {reinterpret_cast<T*>(bytes_ + offset), count};
  }

 private:
  char* bytes_ = nullptr;
  size_t size_ = 0;
};

// Grows at its end through a buffer.
class Appender {
 public:
  Appender(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  void append(const void* bytes, size_t size) {
    if (buffer_.size() + size > kBuffer) flush();
    buffer_.append(static_cast<const char*>(bytes), size);
  }
  template <typename T>
  void append(std::span<const T> values) {
    append(values.data(), values.size_bytes());
  }
  void align();  // to a multiple of 8
  size_t written() const { return written_ + buffer_.size(); }
  Status finish();  // what failed since the start

 private:
  static constexpr size_t kBuffer = 1 << 20;
  void flush();

  int fd_;
  std::string path_, buffer_;
  size_t written_ = 0;
  int error_ = 0;
};

// A file without a name in a folder, for as long as it is open. Its owner's alone.
Result<UniqueFd> unnamed_file(const std::string& folder);

}  // namespace sonde::timeline
