// Rates from two gpu_metrics tables: in which share of the time between them the clocks were
// throttled, and how much went over the links. Used by AmdGpus.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "monitor/gpu_metrics.h"
#include "watch/snapshot.h"

namespace sonde::watch {

class AmdRates {
 public:
  // Fills in the rates since the previous table, and keeps this table's counters.
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
