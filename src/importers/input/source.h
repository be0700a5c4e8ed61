// Source: the bytes of a file to import, one after another, unpacked if it is compressed with gzip
// (or zstd, where the build has it). A compressed file that breaks off gives what can be unpacked
// and then ends; broken() says so. "-" is the standard input.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde::importers {

class Source {
 public:
  static constexpr size_t kHeadBytes = 64 * 1024;

  static Result<Source> open(const std::string& path);
  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  const std::string& path() const;
  bool compressed() const;
  // The first kHeadBytes, or all there is; they are still to be read.
  std::string_view head() const;
  // The next bytes, at most `size`; 0 at the end. Fewer than `size` does not mean the end.
  Result<size_t> read(char* to, size_t size);
  // All that is left, for formats that are small. Fails above `limit` bytes.
  Result<std::string> read_all(size_t limit = size_t{1} << 30);
  // Why the file ended too early; "" if it did not.
  const std::string& broken() const;

  // How far reading has come, in bytes of the file; total is 0 for a pipe.
  using Progress = std::function<void(uint64_t done, uint64_t total)>;
  void on_progress(Progress progress);

 private:
  struct Impl;
  explicit Source(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Reads a source line by line. Lines end in \n or \r\n, which are not part of them.
class Lines {
 public:
  explicit Lines(Source& source) : source_(source) {}
  // False at the end. The line is valid until the next call. A line beyond 64 MiB is cut.
  Result<bool> next(std::string_view& line);
  uint64_t row() const { return row_; }  // of the last line, from 1

 private:
  Source& source_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t row_ = 0;
  bool at_end_ = false;
};

}  // namespace sonde::importers
