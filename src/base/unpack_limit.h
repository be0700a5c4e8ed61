// UnpackLimit: how much a compressed file may become. A few kilobytes can be made that unpack to
// terabytes; traces compress by 10 to 30. Used by all that reads compressed files.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

class UnpackLimit {
 public:
  static constexpr uint64_t kFreeBytes = uint64_t{1} << 30;
  static constexpr uint64_t kMostTimes = 200;
  // Set to "off" it lets every file through.
  static constexpr const char* kVariable = "SONDE_UNPACK_LIMIT";

  // `path` is what an error is about.
  explicit UnpackLimit(std::string path);

  // An error once `unpacked` bytes, all so far, are more than a file of which `packed` were read
  // may become.
  Status check(uint64_t packed, uint64_t unpacked) const;

 private:
  std::string path_;
  bool off_;
};

}  // namespace sonde
