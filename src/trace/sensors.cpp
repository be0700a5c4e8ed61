#include "trace/sensors.h"

#include <algorithm>
#include <cmath>

#include "store/scan.h"

namespace sonde::trace {
namespace {

constexpr std::string_view kWaited = "cpu_wait_ms";

bool is_cpu_time(std::string_view type) {
  return type == kWaited || type == "cpu_user_ms" || type == "cpu_system_ms";
}

// The kernel counts from the start of a process: a window takes what was added within it.
int64_t added_within(Interval select, const std::vector<Monitor::Reading>& readings) {
  int64_t first_ns = 0, last_ns = 0;
  for (const auto& [time, value] : readings) {
    if (time.start_ns >= select.end_ns) continue;
    const int64_t value_ns = std::llround(value * 1e6);
    if (time.end_ns < select.start_ns) first_ns = value_ns;
    last_ns = std::max(last_ns, value_ns);
  }
  return last_ns - first_ns;
}

}  // namespace

void SensorRows::add(const SensorRow& row) {
  const bool is_gpus = request_->monitors && row.device_type == "gpu" &&
                       (!request_->gpu || *request_->gpu == row.device);
  const bool is_processes =
      request_->cpu_time && row.device_type == "process" && is_cpu_time(row.type);
  if (!is_gpus && !is_processes) return;
  auto& readings = (is_gpus ? of_gpus_ : of_processes_)[{std::string(row.type), row.device}];
  readings.push_back({{row.start_ns, row.end_ns}, row.value});
}

void SensorRows::finish(Interval select, Trace& trace) {
  for (auto* table : {&of_gpus_, &of_processes_}) {
    for (auto& [place, readings] : *table) {
      std::stable_sort(readings.begin(), readings.end(), [](const auto& a, const auto& b) {
        return a.time.start_ns < b.time.start_ns;
      });
    }
  }
  for (auto& [place, readings] : of_gpus_) {
    std::erase_if(readings, [&](const Monitor::Reading& one) {
      return one.time.start_ns >= select.end_ns || one.time.end_ns < select.start_ns;
    });
    if (!readings.empty())
      trace.monitors.push_back({place.first, place.second, std::move(readings)});
  }
  CpuTime sum;
  bool is_known = false;
  for (const auto& [place, readings] : of_processes_) {
    if (readings.front().time.start_ns >= select.end_ns) continue;
    const bool is_wait = place.first == kWaited;
    (is_wait ? sum.waited_ns : sum.used_ns) += added_within(select, readings);
    is_known = is_known || is_wait;
  }
  if (is_known) trace.cpu_time = sum;
}

Status load_sensors(store::Database& database, const Request& request, Trace& trace) {
  SensorRows rows(request);
  if (!rows.wants_any()) return ok_status();
  const Interval select = request.window.select;
  SONDE_TRY(store::scan(
      database, "device_type, monitor_type, device_id, start_ns, end_ns, value",
      "(SELECT * FROM v_monitor WHERE device_type IN ('gpu', 'process') ORDER BY start_ns, id)", {},
      [&](const store::Row& row) {
        const int64_t start_ns = row.integer(3);
        if (start_ns >= select.end_ns) return;
        rows.add({row.text(0), row.text(1), row.integer_or(2, 0), start_ns,
                  row.integer_or(4, start_ns), row.real(5)});
      }));
  rows.finish(select, trace);
  return ok_status();
}

}  // namespace sonde::trace
