// AppendFile: a log that several threads, and processes, append whole texts to. Used by what
// observes waves.
#pragma once

#include <mutex>
#include <string>

namespace softgpu::isa {

class AppendFile {
 public:
  ~AppendFile();
  // False if it cannot be written. A new file begins with `header`.
  bool open(const std::string& path, const std::string& header = "");
  // On failure the text is lost.
  void write(const std::string& text);

 private:
  std::mutex mutex_;
  int fd_ = -1;
};

}  // namespace softgpu::isa
