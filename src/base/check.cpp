#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sonde {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "sonde: internal error: %s is false at %s:%d; please report it\n", condition,
               file, line);
  std::abort();
}

}  // namespace sonde
