#include "base/unpack_limit.h"

#include <cstdlib>
#include <string_view>
#include <utility>

namespace sonde {

namespace {

bool is_off() {
  const char* const said = std::getenv(UnpackLimit::kVariable);
  return said != nullptr && std::string_view(said) == "off";
}

}  // namespace

UnpackLimit::UnpackLimit(std::string path) : path_(std::move(path)), off_(is_off()) {}

Status UnpackLimit::check(uint64_t packed, uint64_t unpacked) const {
  if (off_ || unpacked <= kFreeBytes || unpacked / kMostTimes <= packed) return ok_status();
  return make_error(ErrorCode::kBadData, "unpacks to more than 1 GiB and 200 times its size", path_,
                    std::string("if it is a trace all the same, set ") + kVariable + "=off");
}

}  // namespace sonde
