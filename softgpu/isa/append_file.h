// AppendFile: a log that several threads, and processes, write to, whole texts at a time. Used by
// what looks on at waves.
#pragma once

#include <mutex>
#include <string>

namespace softgpu::isa {

class AppendFile {
 public:
  ~AppendFile();
  // False if it cannot be written. `header` is what a new file begins with.
  bool open(const std::string& path, const std::string& header = "");
  // What cannot be written is lost.
  void write(const std::string& text);

 private:
  std::mutex mutex_;
  int fd_ = -1;
};

}  // namespace softgpu::isa
