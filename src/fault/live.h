// The memory of a running process, read from outside: kernel arguments and signal values. The
// process is neither stopped nor changed. Used by compose.cpp.
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
  std::string permissions, path;  // "rw-p"; path "" for anonymous memory
};

class LiveProcess {
 public:
  // For the process of a board. Another process that reuses its pid is not read.
  LiveProcess(const wire::Board& board, const std::string& board_path);

  // errno: why it cannot be read; 0: it can.
  int trouble() const { return trouble_; }
  // The number of bytes read, or a negative errno.
  int64_t read(uint64_t address, void* to, size_t bytes) const;
  // Whether a dispatch, given its number on the board plus 1, has ended by now or is unknown.
  bool has_ended(uint64_t number) const;
  std::optional<int64_t> signal_value(uint64_t signal) const;
  // Empty if they cannot be read.
  std::vector<MemoryMap> maps() const;
  // "mapped by the process as rw-p, in [heap]"
  std::string page_text(uint64_t address) const;

 private:
  int64_t pid_ = 0;
  int trouble_ = 0;
  std::string path_;
};

}  // namespace sonde::fault
