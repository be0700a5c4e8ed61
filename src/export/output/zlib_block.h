// ZlibBlock: blocks of bytes -> one zlib stream each, at the fastest level. With libdeflate where
// the build found it, which takes half the time, and with zlib otherwise; readers see no
// difference.
#pragma once

#include <memory>
#include <string_view>

namespace sonde::exporting {

class ZlibBlock {
 public:
  ZlibBlock();
  ~ZlibBlock();
  // Valid until the next call.
  std::string_view compress(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sonde::exporting
