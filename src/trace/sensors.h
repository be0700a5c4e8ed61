// SensorRows: readings of GPUs and of processes, from an .rpd or from another tool's file, become
// Trace::monitors and Trace::cpu_time. Private to trace.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/database.h"
#include "trace/trace.h"

namespace sonde::trace {

struct SensorRow {
  std::string_view device_type, type;
  int64_t device = 0;
  int64_t start_ns = 0, end_ns = 0;
  double value = 0;
};

class SensorRows {
 public:
  explicit SensorRows(const Request& request) : request_(&request) {}
  bool wants_any() const { return request_->monitors || request_->cpu_time; }
  // In any order, those of other devices too.
  void add(const SensorRow& row);
  // What the window chooses of them.
  void finish(Interval select, Trace& trace);

 private:
  using Place = std::pair<std::string, int64_t>;  // what is read, and of which device
  using Readings = std::vector<Monitor::Reading>;

  const Request* request_;
  std::map<Place, Readings> of_gpus_, of_processes_;
};

Status load_sensors(store::Database& database, const Request& request, Trace& trace);

}  // namespace sonde::trace
