// What two tables of gpu_metrics say together: for which share of the time between them the clocks
// were held down, and what went over the links. Used by AmdGpus.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "monitor/gpu_metrics.h"
#include "watch/snapshot.h"

namespace sonde::watch {

class AmdRates {
 public:
  // Puts what is known since the table before into `gpu`, and keeps this one's counters.
  void take(const monitor::GpuMetricsTable& table, int64_t now_ns, Gpu& gpu);

 private:
  struct Counters {
    int64_t time_ns = 0;
    std::optional<uint64_t> ticks;
    std::map<std::string, uint64_t> residencies;  // by reason
    std::optional<uint64_t> read_kb, written_kb;
  };
  void put_residencies(const Counters& now, Gpu& gpu) const;

  Counters last_;
};

}  // namespace sonde::watch
