#include "device/notices.h"

#include <unistd.h>

namespace softgpu {

void Notices::once(std::string_view text) {
  {
    std::lock_guard lock(mutex_);
    if (!said_.emplace(text).second) return;
  }
  std::string line = "softgpu: " + std::string(text) + "\n";
  // Stderr is closed: nobody reads this.
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace softgpu
