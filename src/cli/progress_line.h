// The line that shows how far reading a file has come; on a terminal only.
#pragma once

#include <cstdint>
#include <string>

namespace sonde::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  // Redraws at most five times a second; `total` 0 = not known.
  void update(const std::string& what, uint64_t done, uint64_t total);
  void clear();

 private:
  bool active_;
  bool drawn_ = false;
  int64_t last_ns_ = 0;
};

}  // namespace sonde::cli
