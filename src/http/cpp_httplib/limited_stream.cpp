#include "http/cpp_httplib/limited_stream.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/time.h"

namespace sonde::http {
namespace {

constexpr int64_t kLingerNs = 1'000'000'000;
constexpr size_t kLingerBytes = 1 << 20;

// False: not before that time.
bool wait_for(int fd, short events, int64_t until_ns) {
  for (;;) {
    const int64_t left_ns = until_ns - monotonic_now_ns();
    if (left_ns <= 0) return false;
    pollfd waited{fd, events, 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(left_ns / 1'000'000 + 1));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace

bool LimitedStream::fill() {
  if (!wait_for(fd_, POLLIN, read_until_ns_)) return false;
  char bytes[4096];
  const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(got));
  return true;
}

bool LimitedStream::has_more(int64_t wait_ns) {
  if (taken_ < buffer_.size()) return true;
  if (!wait_for(fd_, POLLIN, monotonic_now_ns() + wait_ns)) return false;
  char byte;
  gone_ = ::recv(fd_, &byte, 1, MSG_PEEK) != 1;
  return !gone_;
}

LimitedStream::Arrived LimitedStream::take_head() {
  buffer_.erase(0, taken_);
  taken_ = 0;
  body_bytes_ = 0;
  head_end_ = 0;
  write_until_ns_ = 0;
  read_until_ns_ = monotonic_now_ns() + limits_.read_ns;
  for (;;) {
    const size_t end = buffer_.find("\r\n\r\n");
    if (std::min(end, buffer_.size()) > limits_.head_bytes) return Arrived::kTooLong;
    if (end != buffer_.npos) {
      head_end_ = end + 4;
      break;
    }
    if (!fill()) {
      return monotonic_now_ns() >= read_until_ns_ ? Arrived::kLate : Arrived::kGone;
    }
  }
  const auto head = buffer_.begin() + static_cast<ptrdiff_t>(head_end_);
  const auto lines = static_cast<size_t>(std::count(buffer_.begin(), head, '\n')) - 1;
  return lines > limits_.head_lines + 1 ? Arrived::kTooLong : Arrived::kWhole;  // 1: the request
}

ssize_t LimitedStream::read(char* to, size_t size) {
  const bool in_body = taken_ >= head_end_;
  if (in_body && body_bytes_ >= limits_.body_bytes) return -1;
  if (taken_ == buffer_.size() && !fill()) return -1;
  size_t count = std::min(size, buffer_.size() - taken_);
  if (!in_body) count = std::min(count, head_end_ - taken_);
  buffer_.copy(to, count, taken_);
  taken_ += count;
  if (in_body) body_bytes_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t LimitedStream::write(const char* from, size_t size) {
  // From the first byte on: what the answer took to make does not count.
  if (write_until_ns_ == 0) write_until_ns_ = monotonic_now_ns() + limits_.write_ns;
  size_t sent = 0;
  while (sent < size) {
    if (!wait_for(fd_, POLLOUT, write_until_ns_)) return -1;
    const ssize_t took = ::send(fd_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (took >= 0) sent += static_cast<size_t>(took);
    if (took < 0 && errno != EAGAIN && errno != EINTR) return -1;
  }
  return static_cast<ssize_t>(size);
}

void LimitedStream::refuse(int status, const char* reason) {
  const std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "X-Content-Type-Options: nosniff\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}\n",
      status, reason, std::char_traits<char>::length(reason) + 1, reason);
  write(text.data(), text.size());
}

void LimitedStream::linger() {
  ::shutdown(fd_, SHUT_WR);
  const int64_t until_ns = monotonic_now_ns() + kLingerNs;
  char bytes[4096];
  for (size_t thrown = 0; thrown < kLingerBytes;) {
    if (!wait_for(fd_, POLLIN, until_ns)) return;
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) return;
    thrown += static_cast<size_t>(got);
  }
}

void LimitedStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = limits_.address;
  port = 0;
}

void LimitedStream::get_local_ip_and_port(std::string& ip, int& port) const {
  get_remote_ip_and_port(ip, port);
}

}  // namespace sonde::http
