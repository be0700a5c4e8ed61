#include "record/stderr_tap.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "base/private_file.h"
#include "base/time.h"

namespace sonde::record {

namespace {

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the program's own write would fail as well
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

Result<StderrTap> StderrTap::open(const std::string& log, std::string prefix) {
  StderrTap tap;
  const std::string printed = log + ".stderr";
  tap.prefix_ = std::move(prefix);
  tap.writing_ = create_private_file(printed, O_WRONLY | O_APPEND);
  tap.reading_ = UniqueFd(::open(printed.c_str(), O_RDONLY | O_CLOEXEC));
  tap.log_ = create_private_file(log, O_WRONLY | O_APPEND);
  if (!tap.writing_.valid() || !tap.reading_.valid() || !tap.log_.valid()) {
    return errno_error("cannot be made", printed, errno);
  }
  return tap;
}

void StderrTap::take(std::string_view bytes, int to) {
  while (!bytes.empty()) {
    if (line_ == Line::kUnknown) {
      // Takes as much as may still be the prefix; then the rest of the line is decided.
      const size_t wanted = prefix_.size() - begun_.size();
      const std::string_view more = bytes.substr(0, wanted);
      const bool may_be = std::string_view(prefix_).substr(begun_.size(), more.size()) == more;
      if (may_be && more.size() < wanted) {
        begun_ += more;
        return;
      }
      line_ = may_be ? Line::kLogs : Line::kOthers;
      write_all(line_ == Line::kLogs ? log_.get() : to, begun_);
      begun_.clear();
    }
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end == bytes.npos ? end : end + 1);
    write_all(line_ == Line::kLogs ? log_.get() : to, part);
    bytes.remove_prefix(part.size());
    if (end == bytes.npos) continue;
    if (line_ == Line::kLogs) line_times_ns_.push_back(monotonic_now_ns());
    line_ = Line::kUnknown;
  }
}

void StderrTap::pass_on(int to) {
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::read(reading_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    take({buffer, static_cast<size_t>(got)}, to);
  }
}

void StderrTap::finish(int to) {
  pass_on(to);
  write_all(to, begun_);
  begun_.clear();
  if (line_ == Line::kLogs) line_times_ns_.push_back(monotonic_now_ns());
}

}  // namespace sonde::record
