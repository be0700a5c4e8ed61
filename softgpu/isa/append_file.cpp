#include "isa/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace softgpu::isa {

bool AppendFile::open(const std::string& path, const std::string& header) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  struct stat info {};
  if (fd_ >= 0 && fstat(fd_, &info) == 0 && info.st_size == 0) write(header);
  return fd_ >= 0;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) close(fd_);
}

void AppendFile::write(const std::string& text) {
  if (fd_ < 0) return;
  std::lock_guard lock(mutex_);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(fd_, text.data() + done, text.size() - done);
    if (wrote <= 0) return;
    done += static_cast<size_t>(wrote);
  }
}

}  // namespace softgpu::isa
