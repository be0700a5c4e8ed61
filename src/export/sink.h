// Sink: a new file that text or bytes go into, plain or gzip. One big buffer, few system calls.
// The writers format straight into the buffer: grab() gives room, advance() says how much of it was
// used. An error is kept and comes out of finish(); a file that was not finished is removed, so a
// half export never looks like a whole one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sonde::exporting {

class Sink {
 public:
  enum class Encoding { kPlain, kGzip };
  // Fails if the file exists.
  static Result<Sink> create(const std::string& path, Encoding encoding);
  Sink(Sink&&) noexcept;
  Sink& operator=(Sink&&) = delete;
  ~Sink();

  // At least `size` bytes (size <= kMaxGrab), valid until the next call of anything here.
  char* grab(size_t size) {
    if (size > buffer_.size() - used_) flush();
    return buffer_.data() + used_;
  }
  void advance(char* end) { used_ = static_cast<size_t>(end - buffer_.data()); }

  void append(std::string_view bytes) {
    if (bytes.size() > buffer_.size() - used_) return append_split(bytes);
    used_ += bytes.copy(buffer_.data() + used_, bytes.size());  // an empty view may hold no address
  }

  Status finish();

  static constexpr size_t kMaxGrab = 256 << 10;

 private:
  struct Gzip;
  Sink(UniqueFd fd, std::string path, Encoding encoding);
  void append_split(std::string_view bytes);
  void flush();
  void write_all(const char* bytes, size_t size);
  void deflate(std::string_view bytes, bool last);

  UniqueFd fd_;
  std::string path_;
  std::vector<char> buffer_;
  size_t used_ = 0;
  std::unique_ptr<Gzip> gzip_;
  int error_number_ = 0;
  bool finished_ = false;
};

}  // namespace sonde::exporting
