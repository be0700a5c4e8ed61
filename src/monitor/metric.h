// The metrics that can be sampled while something is recorded: one table of them, from which the
// choice on the command line, `sonde avail` and the rows of rocpd_monitor are made.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde::monitor {

enum class Id : uint8_t {
#define X(id, group, device, name, by_default, meaning) id,
#include "monitor/metrics.inc"
#undef X
  kCount
};
constexpr size_t kMetrics = static_cast<size_t>(Id::kCount);

struct Metric {
  const char* group;    // what it is chosen by
  const char* device;   // rocpd_monitor.deviceType
  const char* name;     // rocpd_monitor.monitorType; 16 characters at most, with its unit
  const char* meaning;  // one line
  bool by_default;
};

std::span<const Metric> all_metrics();
const Metric& metric(Id id);

using Selection = std::bitset<kMetrics>;

// "process,gpu,host.cpu_mhz": groups, and single metrics as DEVICE.NAME. Also "default", "all" and
// "off".
Result<Selection> parse_selection(std::string_view list);
bool selects_group(const Selection& selection, std::string_view group);

}  // namespace sonde::monitor
