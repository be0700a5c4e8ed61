#include "device/notices.h"

#include <unistd.h>

namespace softgpu {

void Notices::once(std::string_view text) {
  {
    std::lock_guard lock(mutex_);
    if (!said_.emplace(text).second) return;
  }
  std::string line = "softgpu: " + std::string(text) + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nobody is left to be told
}

}  // namespace softgpu
