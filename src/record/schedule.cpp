#include "record/schedule.h"

namespace sonde::record {

bool is_scheduled(const Options& options, int64_t since_ns) {
  int64_t since = since_ns - options.delay_ns;
  if (since < 0) return false;
  if (options.every_ns != 0) {
    if (options.rounds != 0 && since / options.every_ns >= options.rounds) return false;
    since %= options.every_ns;
  }
  return options.duration_ns == 0 || since < options.duration_ns;
}

}  // namespace sonde::record
