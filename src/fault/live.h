// The memory of a process that goes on, read from outside while it runs: arguments of kernels and
// values of signals. Nothing of the process is stopped or changed. Used by compose.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/board.h"

namespace sonde::fault {

// A line of /proc/PID/maps.
struct MemoryMap {
  uint64_t begin = 0, end = 0;
  std::string permissions, path;  // "rw-p"; "" of what is in no file
};

class LiveProcess {
 public:
  // Whose board it is. Another process that has got its number since is not read.
  LiveProcess(const wire::Board& board, const std::string& board_path);

  // errno: why nothing of it can be read; 0: it can.
  int trouble() const { return trouble_; }
  // How many bytes were read, or the errno below zero.
  int64_t read(uint64_t address, void* to, size_t bytes) const;
  // Of a dispatch, by its number on the board, plus 1: whether it is over by now, or not known.
  bool has_ended(uint64_t number) const;
  std::optional<int64_t> signal_value(uint64_t signal) const;
  // Empty where they cannot be read.
  std::vector<MemoryMap> maps() const;
  // "mapped by the process as rw-p, in [heap]"
  std::string page_text(uint64_t address) const;

 private:
  int64_t pid_ = 0;
  int trouble_ = 0;
  std::string path_;
};

}  // namespace sonde::fault
