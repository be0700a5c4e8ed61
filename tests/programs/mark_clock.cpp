// How well marks tell the time: each is made between two readings of CLOCK_MONOTONIC, with a pause
// of 1 ms after it. The readings go to a file, a line each, for check_clock.py.
//   mark_clock FILE [COUNT]
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cpu_clock.h"
#include "sonde/sonde.h"

int main(int argc, char** argv) {
  const long count = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 3000;
  if (argc < 2 || count <= 0) return 2;
  struct Moment {
    int64_t before, after;
  };
  std::vector<Moment> moments(static_cast<size_t>(count));
  const timespec pause = {0, 1'000'000};
  for (auto& moment : moments) {
    moment.before = clock_ns(CLOCK_MONOTONIC);
    sonde_mark("now");
    moment.after = clock_ns(CLOCK_MONOTONIC);
    nanosleep(&pause, nullptr);
  }
  std::FILE* file = std::fopen(argv[1], "w");
  if (file == nullptr) return 1;
  for (const auto& moment : moments) {
    std::fprintf(file, "%lld %lld\n", static_cast<long long>(moment.before),
                 static_cast<long long>(moment.after));
  }
  std::fclose(file);
  std::printf("{\"marks\": %ld}\n", count);
}
