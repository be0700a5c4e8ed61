#include "export/sink.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

namespace sonde::exporting {

namespace {
constexpr size_t kBufferSize = 1 << 20;
constexpr int kGzipHeader = 16;  // zlib: added to the window bits
}  // namespace

struct Sink::Gzip {
  z_stream stream = {};
  std::vector<char> out = std::vector<char>(kBufferSize);
  ~Gzip() { deflateEnd(&stream); }
};

Result<Sink> Sink::create(const std::string& path, Encoding encoding) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) return errno_error("cannot create", path, errno);
  return Sink(std::move(fd), path, encoding);
}

Sink::Sink(UniqueFd fd, std::string path, Encoding encoding)
    : fd_(std::move(fd)), path_(std::move(path)), buffer_(kBufferSize) {
  if (encoding == Encoding::kGzip) {
    gzip_ = std::make_unique<Gzip>();
    const int code = deflateInit2(&gzip_->stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzipHeader,
                                  9, Z_DEFAULT_STRATEGY);
    if (code != Z_OK) error_number_ = ENOMEM;
  }
}

Sink::Sink(Sink&& other) noexcept = default;

Sink::~Sink() {
  if (fd_.valid() && !finished_) ::unlink(path_.c_str());
}

void Sink::append_split(std::string_view bytes) {
  while (!bytes.empty()) {
    if (used_ == buffer_.size()) flush();
    const size_t size = std::min(bytes.size(), buffer_.size() - used_);
    bytes.copy(buffer_.data() + used_, size);
    used_ += size;
    bytes.remove_prefix(size);
  }
}

Status Sink::finish() {
  flush();
  if (gzip_ && error_number_ == 0) deflate({}, true);
  fd_.reset();
  if (error_number_ != 0) {
    ::unlink(path_.c_str());
    finished_ = true;
    return errno_error("cannot write", path_, error_number_);
  }
  finished_ = true;
  return ok_status();
}

void Sink::flush() {
  const std::string_view bytes(buffer_.data(), used_);
  used_ = 0;
  if (error_number_ != 0) return;
  if (gzip_) {
    deflate(bytes, false);
  } else {
    write_all(bytes.data(), bytes.size());
  }
}

void Sink::write_all(const char* bytes, size_t size) {
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

void Sink::deflate(std::string_view bytes, bool last) {
  z_stream& stream = gzip_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  do {
    stream.next_out = reinterpret_cast<Bytef*>(gzip_->out.data());
    stream.avail_out = static_cast<uInt>(gzip_->out.size());
    ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    write_all(gzip_->out.data(), gzip_->out.size() - stream.avail_out);
  } while (stream.avail_out == 0 && error_number_ == 0);
}

}  // namespace sonde::exporting
