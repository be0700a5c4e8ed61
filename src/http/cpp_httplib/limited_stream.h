// One connection as cpp-httplib reads and writes it, with bounds that the library does not have: a
// request has a time to arrive in as a whole, its head a number of bytes and lines, and an answer a
// time to be taken in. The library's own time limit is for each read, which a client that sends a
// byte every four seconds never meets.
#pragma once

#include <httplib.h>

#include <cstdint>
#include <string>

#include "http/server.h"

namespace sonde::http {

class LimitedStream : public httplib::Stream {
 public:
  LimitedStream(int fd, const Options& limits) : fd_(fd), limits_(limits) {}

  enum class Arrived { kWhole, kGone, kLate, kTooLong };
  // Takes a request's head into the buffer, whole, so that its bounds are checked before a parser
  // sees it. What was read beyond it stays for the body or the next head.
  Arrived take_head();
  // Writes an answer without the library, which says that the connection ends.
  void refuse(int status, const char* reason);
  // Waits a little for the other side to take what it was sent: closing with bytes unread would
  // throw that away.
  void linger();
  // Whether there is more of a request; false: not within `wait_ns`, or the other side has gone.
  bool has_more(int64_t wait_ns);
  // Once has_more() has seen it.
  bool is_gone() const { return gone_; }

#if SONDE_HTTPLIB_MINOR < 41
  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
#else  // where to be readable is to have something in the buffer; read() and write() wait
       // themselves
  bool is_readable() const override { return taken_ < buffer_.size(); }
  bool wait_readable() const override { return true; }
  bool wait_writable() const override { return true; }
  time_t duration() const override { return 0; }
#endif
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return fd_; }

 private:
  // Adds what there is to the buffer; false: nothing came in time, or the other side has gone.
  bool fill();

  int fd_;
  const Options& limits_;
  std::string buffer_;
  size_t taken_ = 0;       // of the buffer
  size_t body_bytes_ = 0;  // that were read since the head
  size_t head_end_ = 0;    // of the buffer
  bool gone_ = false;      // the other side
  int64_t read_until_ns_ = 0;
  int64_t write_until_ns_ = 0;  // 0: nothing is written yet
};

}  // namespace sonde::http
