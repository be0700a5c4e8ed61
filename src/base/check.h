// SONDE_CHECK(condition): an invariant that only a bug can break. Prints where and aborts. Never
// for bad input, which is an Error or a counted skip, and never in code that runs in the traced
// program.
#pragma once

namespace sonde {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace sonde

#define SONDE_CHECK(condition)                               \
  do {                                                       \
    if (!(condition)) [[unlikely]]                           \
      ::sonde::check_failed(#condition, __FILE__, __LINE__); \
  } while (0)
