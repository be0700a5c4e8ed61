// StderrTap: extracts the lines of one library from what a program prints to its standard error,
// and passes on the rest. The program writes into a file, so that it never waits for us, and
// continues when we are killed. Used for MIOpen, which logs nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sonde::record {

class StderrTap {
 public:
  StderrTap() = default;
  // Lines that begin with `prefix` go to `log`. A file beside it holds what the program writes
  // until it is passed on.
  static Result<StderrTap> open(const std::string& log, std::string prefix);

  bool is_open() const { return writing_.valid(); }
  int fd() const { return writing_.get(); }  // the program's standard error
  // Passes on to `to` what has been written since.
  void pass_on(int to);
  // The same including an unfinished last line; nothing more will come.
  void finish(int to);
  // When each line of the log was seen, CLOCK_MONOTONIC.
  const std::vector<int64_t>& line_times_ns() const { return line_times_ns_; }

 private:
  void take(std::string_view bytes, int to);

  UniqueFd writing_, reading_, log_;
  std::string prefix_, begun_;  // `begun_`: the start of a line that may still be the log's
  enum class Line { kUnknown, kLogs, kOthers } line_ = Line::kUnknown;
  std::vector<int64_t> line_times_ns_;
};

}  // namespace sonde::record
