// UnpackLimit: how large a compressed file may become. A file of a few kilobytes can unpack to
// terabytes; traces compress by a factor of 10 to 30. Used wherever compressed files are read.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

class UnpackLimit {
 public:
  static constexpr uint64_t kFreeBytes = uint64_t{1} << 30;
  static constexpr uint64_t kMostTimes = 200;
  // "off" disables the limit.
  static constexpr const char* kVariable = "SONDE_UNPACK_LIMIT";

  // `path` is the file that an error names.
  explicit UnpackLimit(std::string path);

  // An error if `unpacked` bytes in total are too many for a file of which `packed` bytes were
  // read.
  Status check(uint64_t packed, uint64_t unpacked) const;

 private:
  std::string path_;
  bool off_;
};

}  // namespace sonde
