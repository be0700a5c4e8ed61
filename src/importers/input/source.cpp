#include "importers/input/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/unique_fd.h"
#include "base/unpack_limit.h"
#include "store/unpack.h"

namespace sonde::importers {

namespace {

constexpr size_t kPackedBytes = 256 * 1024;
constexpr size_t kMaxLine = size_t{64} << 20;

Result<size_t> read_some(int fd, char* to, size_t size, const std::string& path) {
  for (;;) {
    const ssize_t got = ::read(fd, to, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return errno_error("cannot read the file", path, errno);
  }
}

}  // namespace

struct Source::Impl {
  std::string path;
  UniqueFd fd;
  uint64_t total = 0, done = 0;
  std::unique_ptr<store::Unpacker> unpacker;
  std::vector<char> packed;
  std::string_view packed_left;
  bool packed_end = false;
  std::string head;      // what was read to look at it
  size_t head_done = 0;  // how much of that was read by the user
  uint64_t unpacked = 0;
  std::string broken;
  Progress progress;

  Result<size_t> fetch(char* to, size_t size);
  Result<size_t> fetch_unpacked(char* to, size_t size);
};

Result<size_t> Source::Impl::fetch_unpacked(char* to, size_t size) {
  while (broken.empty()) {
    if (packed_left.empty() && !packed_end) {
      SONDE_ASSIGN(const size_t got, read_some(fd.get(), packed.data(), packed.size(), path));
      done += got;
      packed_end = got == 0;
      packed_left = {packed.data(), got};
    }
    if (packed_left.empty() && unpacker->complete()) return size_t{0};
    const size_t before = packed_left.size();
    const size_t made = unpacker->unpack(packed_left, to, size);
    broken = unpacker->error();
    unpacked += made;
    SONDE_TRY(UnpackLimit(path).check(done, unpacked));
    if (made > 0) return made;
    if (packed_end && packed_left.size() == before && !unpacker->complete()) {
      broken = "the compressed file is cut off";
    }
  }
  return size_t{0};
}

Result<size_t> Source::Impl::fetch(char* to, size_t size) {
  if (unpacker != nullptr) return fetch_unpacked(to, size);
  SONDE_ASSIGN(const size_t got, read_some(fd.get(), to, size, path));
  done += got;
  return got;
}

Source::Source(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Source::Source(Source&&) noexcept = default;
Source& Source::operator=(Source&&) noexcept = default;
Source::~Source() = default;

Result<Source> Source::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->fd =
      UniqueFd(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!impl->fd.valid()) return errno_error("cannot open the file", path, errno);
  struct stat info {};
  if (::fstat(impl->fd.get(), &info) != 0) return errno_error("cannot read the file", path, errno);
  if (S_ISDIR(info.st_mode)) {
    return make_error(ErrorCode::kBadData, "a directory, not a trace", path,
                      "give the files in it");
  }
  if (S_ISREG(info.st_mode)) impl->total = static_cast<uint64_t>(info.st_size);

  impl->packed.resize(kPackedBytes);
  size_t first = 0;
  while (first < impl->packed.size()) {
    SONDE_ASSIGN(const size_t got, read_some(impl->fd.get(), impl->packed.data() + first,
                                             impl->packed.size() - first, path));
    if (got == 0) break;
    first += got;
  }
  impl->done = first;
  impl->unpacker = store::Unpacker::for_stream({impl->packed.data(), first});
  if (impl->unpacker == nullptr) {
    impl->head.assign(impl->packed.data(), first);
    impl->packed = {};
    return Source(std::move(impl));
  }
  impl->packed_left = {impl->packed.data(), first};
  impl->head.resize(kHeadBytes);
  size_t filled = 0;
  while (filled < kHeadBytes) {
    SONDE_ASSIGN(const size_t made,
                 impl->fetch_unpacked(impl->head.data() + filled, kHeadBytes - filled));
    if (made == 0) break;
    filled += made;
  }
  impl->head.resize(filled);
  return Source(std::move(impl));
}

const std::string& Source::path() const { return impl_->path; }
bool Source::compressed() const { return impl_->unpacker != nullptr; }
std::string_view Source::head() const {
  return std::string_view(impl_->head).substr(0, kHeadBytes);
}
const std::string& Source::broken() const { return impl_->broken; }
void Source::on_progress(Progress progress) { impl_->progress = std::move(progress); }

Result<size_t> Source::read(char* to, size_t size) {
  if (impl_->head_done < impl_->head.size()) {
    const size_t part = std::min(size, impl_->head.size() - impl_->head_done);
    std::copy_n(impl_->head.data() + impl_->head_done, part, to);
    impl_->head_done += part;
    return part;
  }
  SONDE_ASSIGN(const size_t got, impl_->fetch(to, size));
  if (impl_->progress) impl_->progress(impl_->done, impl_->total);
  return got;
}

Result<std::string> Source::read_all(size_t limit) {
  std::string all;
  for (size_t used = 0;;) {
    all.resize(used + kPackedBytes + used / 2);
    SONDE_ASSIGN(const size_t got, read(all.data() + used, all.size() - used));
    used += got;
    if (used > limit) {
      return make_error(ErrorCode::kUnsupported, "the file is too large to be read as a whole",
                        path());
    }
    if (got == 0) {
      all.resize(used);
      return all;
    }
  }
}

Result<bool> Lines::next(std::string_view& line) {
  size_t scanned = begin_;
  for (;;) {
    const void* found =
        end_ == scanned ? nullptr : std::memchr(buffer_.data() + scanned, '\n', end_ - scanned);
    size_t stop = end_;
    size_t after = end_;
    if (found != nullptr) {
      stop = static_cast<size_t>(static_cast<const char*>(found) - buffer_.data());
      after = stop + 1;
    } else if (end_ - begin_ >= kMaxLine || (at_end_ && end_ > begin_)) {
      // What there is, without a line end.
    } else if (at_end_) {
      return false;
    } else {
      scanned = end_ - begin_;
      buffer_.erase(0, begin_);
      end_ -= begin_;
      begin_ = 0;
      buffer_.resize(end_ + kPackedBytes);
      SONDE_ASSIGN(const size_t got, source_.read(buffer_.data() + end_, kPackedBytes));
      at_end_ = got == 0;
      end_ += got;
      continue;
    }
    line = std::string_view(buffer_).substr(begin_, stop - begin_);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    begin_ = after;
    ++row_;
    return true;
  }
}

}  // namespace sonde::importers
