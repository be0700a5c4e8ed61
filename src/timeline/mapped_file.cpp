#include "timeline/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace sonde::timeline {

Result<MappedFile> MappedFile::map(int fd, bool writable, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno_error("cannot be read", path, errno);
  MappedFile mapped;
  mapped.size_ = static_cast<size_t>(status.st_size);
  if (mapped.size_ == 0) return mapped;
  void* bytes = ::mmap(nullptr, mapped.size_, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                       MAP_SHARED, fd, 0);
  if (bytes == MAP_FAILED) {
    mapped.size_ = 0;
    return errno_error("cannot be mapped", path, errno);
  }
  mapped.bytes_ = static_cast<char*>(bytes);
  return mapped;
}

MappedFile::~MappedFile() {
  if (bytes_ != nullptr) ::munmap(bytes_, size_);
}

void Appender::align() {
  constexpr char kZeros[8] = {};
  append(kZeros, (8 - written() % 8) % 8);
}

void Appender::flush() {
  size_t done = 0;
  while (done < buffer_.size() && error_ == 0) {
    const ssize_t count = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (count >= 0) done += static_cast<size_t>(count);
    if (count < 0 && errno != EINTR) error_ = errno;
  }
  written_ += buffer_.size();
  buffer_.clear();
}

Status Appender::finish() {
  flush();
  if (error_ != 0) return errno_error("cannot be written", path_, error_);
  return ok_status();
}

Result<UniqueFd> unnamed_file(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  std::string name = folder + "/sonde-XXXXXX";  // not every file system has O_TMPFILE
  fd = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd.valid()) return errno_error("no temporary file can be made", folder, errno);
  ::unlink(name.c_str());
  return fd;
}

}  // namespace sonde::timeline
