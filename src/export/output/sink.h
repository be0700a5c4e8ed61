// Sink: a new file that text or bytes go into, plain or gzip. Big buffers, few system calls, and
// those (and the compression) in a thread of their own. The writers format straight into a buffer:
// grab() gives room, advance() says how much of it was used. An error is kept and comes out of
// finish(); a file that was not finished is removed, so a half export never looks like a whole one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/output/background.h"

namespace sonde::exporting {

class Sink {
 public:
  enum class Encoding { kPlain, kGzip };
  // Fails if the file exists.
  static Result<Sink> create(const std::string& path, Encoding encoding);
  Sink(Sink&&) noexcept;
  Sink& operator=(Sink&&) = delete;
  ~Sink();

  // At least `size` bytes (4 KiB at most), valid until the next call of anything here.
  char* grab(size_t size) {
    if (size > room()) flush();
    return buffer_.bytes.data() + buffer_.used;
  }
  void advance(char* end) { buffer_.used = static_cast<size_t>(end - buffer_.bytes.data()); }

  void append(std::string_view bytes) {
    if (bytes.size() > room()) return append_split(bytes);
    // An empty view may hold no address.
    buffer_.used += bytes.copy(buffer_.bytes.data() + buffer_.used, bytes.size());
  }

  Status finish();

 private:
  class File;
  struct Buffer {
    std::vector<char> bytes;
    size_t used = 0;
  };
  explicit Sink(std::unique_ptr<File> file);
  size_t room() const { return buffer_.bytes.size() - buffer_.used; }
  void append_split(std::string_view bytes);
  void flush();

  std::unique_ptr<File> file_;  // what the thread works on
  std::unique_ptr<Background<Buffer>> background_;
  Buffer buffer_;
};

}  // namespace sonde::exporting
