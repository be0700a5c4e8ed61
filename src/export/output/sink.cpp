#include "export/output/sink.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "base/new_file.h"
#include "base/private_file.h"

namespace sonde::exporting {

namespace {
constexpr size_t kBufferSize = 256 << 10;  // stays in the cache that the threads share
constexpr int kGzipHeader = 16;            // zlib: added to the window bits
}  // namespace

// The file and what stands between it and the buffers.
class Sink::File {
 public:
  File(UniqueFd fd, std::string path, bool stream, Encoding encoding)
      : fd_(std::move(fd)),
        path_(std::move(path)),
        is_stream_(stream),
        gzip_(encoding == Encoding::kGzip) {
    if (!gzip_) return;
    out_.resize(kBufferSize);
    const int code = deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzipHeader, 9,
                                  Z_DEFAULT_STRATEGY);
    if (code != Z_OK) error_number_ = ENOMEM;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (gzip_) deflateEnd(&stream_);
    if (fd_.valid()) remove_half();
  }

  void take(const char* bytes, size_t size) {
    if (error_number_ == 0) gzip_ ? deflate(bytes, size, false) : write_all(bytes, size);
  }
  Status finish() {
    if (gzip_ && error_number_ == 0) deflate(nullptr, 0, true);
    fd_.reset();
    if (error_number_ == 0) return ok_status();
    remove_half();
    return errno_error("cannot write", path_, error_number_);
  }

 private:
  // What went into a pipe is gone, and a device stays.
  void remove_half() const {
    if (!is_stream_) ::unlink(path_.c_str());
  }
  void write_all(const char* bytes, size_t size) {
    while (size > 0 && error_number_ == 0) {
      const ssize_t written = ::write(fd_.get(), bytes, size);
      if (written > 0) {
        bytes += written;
        size -= static_cast<size_t>(written);
      } else if (written < 0 && errno != EINTR) {
        error_number_ = errno;
      }
    }
  }
  void deflate(const char* bytes, size_t size, bool last) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes));
    stream_.avail_in = static_cast<uInt>(size);
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      ::deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      write_all(out_.data(), out_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0 && error_number_ == 0);
  }

  UniqueFd fd_;
  const std::string path_;
  const bool is_stream_;
  const bool gzip_;
  z_stream stream_ = {};
  std::vector<char> out_;
  int error_number_ = 0;
};

// A pipe or a device is there already, and is written into.
Result<Sink> Sink::create(const std::string& path, Encoding encoding) {
  const bool stream = is_stream(path);
  UniqueFd fd = !stream       ? create_private_file(path, O_WRONLY)
                : path == "-" ? UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0))
                              : UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return not_created("file", path, errno);
  return Sink(std::make_unique<File>(std::move(fd), path, stream, encoding));
}

Sink::Sink(std::unique_ptr<File> file)
    : file_(std::move(file)),
      background_(std::make_unique<Background<Buffer>>(Buffer{std::vector<char>(kBufferSize)},
                                                       [file = file_.get()](Buffer& buffer) {
                                                         file->take(buffer.bytes.data(),
                                                                    buffer.used);
                                                         buffer.used = 0;
                                                       })),
      buffer_{std::vector<char>(kBufferSize)} {}

Sink::Sink(Sink&&) noexcept = default;
Sink::~Sink() = default;

void Sink::append_split(std::string_view bytes) {
  while (!bytes.empty()) {
    if (room() == 0) flush();
    const size_t size = std::min(bytes.size(), room());
    bytes.copy(buffer_.bytes.data() + buffer_.used, size);
    buffer_.used += size;
    bytes.remove_prefix(size);
  }
}

void Sink::flush() { background_->give(buffer_); }

Status Sink::finish() {
  background_->finish();
  file_->take(buffer_.bytes.data(), buffer_.used);
  buffer_.used = 0;
  return file_->finish();
}

}  // namespace sonde::exporting
