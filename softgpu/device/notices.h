// Notices: messages of the software GPU to its user on stderr, each printed once.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace softgpu {

class Notices {
 public:
  // Writes "softgpu: TEXT" unless it was written before. Thread-safe.
  void once(std::string_view text);

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> said_;
};

}  // namespace softgpu
