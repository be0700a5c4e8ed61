#include "driver/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace softgpu {
namespace {
std::atomic<int> threshold{0};
}

void set_log_level(int level) { threshold.store(level, std::memory_order_relaxed); }

void log(int level, const char* format, ...) {
  if (level > threshold.load(std::memory_order_relaxed)) return;
  const int saved = errno;
  char text[512];
  int used = std::snprintf(text, sizeof text, "softgpu: ");
  va_list arguments;
  va_start(arguments, format);
  used += std::vsnprintf(text + used, sizeof text - used - 1, format, arguments);
  va_end(arguments);
  if (used > static_cast<int>(sizeof text) - 2) used = sizeof text - 2;
  text[used++] = '\n';
  if (::write(STDERR_FILENO, text, used) < 0) {
    // No place left to report this.
  }
  errno = saved;
}

}  // namespace softgpu
