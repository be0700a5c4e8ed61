#include "trace/extras.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/number.h"
#include "store/scan.h"
#include "trace/row_index.h"

namespace sonde::trace {
namespace {

int64_t handle_of(std::string_view text) {
  if (text.substr(0, 2) == "0x") text.remove_prefix(2);
  const auto value = number_in<uint64_t>(text, 16);
  return value ? static_cast<int64_t>(*value) : kNoStream;
}

}  // namespace

Status load_streams(store::Database& database, const std::vector<int64_t>& api_ids, Trace& trace) {
  SONDE_ASSIGN(const bool kernels, database.has_table("rocpd_kernelapi"));
  SONDE_ASSIGN(const bool copies, database.has_table("rocpd_copyapi"));
  if (!kernels || !copies) return ok_status();
  trace.apis.stream.assign(trace.apis.size(), kNoStream);
  trace.apis.blocks.assign(trace.apis.size(), 0);
  RowIndex of_kernels(api_ids), of_copies(api_ids);
  SONDE_TRY(store::scan(database, "api_ptr_id, stream", "rocpd_kernelapi", {},
                        [&](const store::Row& row) {
                          const auto api = of_kernels.row(row.integer(0));
                          if (api && !row.is_null(1))
                            trace.apis.stream[*api] = handle_of(row.text(1));
                        }));
  SONDE_TRY(store::scan(database, "api_ptr_id, stream, sync, srcDevice, dstDevice", "rocpd_copyapi",
                        {}, [&](const store::Row& row) {
                          const auto api = of_copies.row(row.integer(0));
                          if (!api) return;
                          if (!row.is_null(1)) trace.apis.stream[*api] = handle_of(row.text(1));
                          trace.apis.blocks[*api] = row.integer_or(2, 0) != 0 ? 1 : 0;
                          const int64_t from = row.integer_or(3, -1), to = row.integer_or(4, -1);
                          if (from < 0 || to < 0 || from == to) return;
                          trace.apis.between_gpus.resize(trace.apis.size());
                          trace.apis.between_gpus[*api] = 1;
                        }));
  const auto& streams = trace.apis.stream;
  const auto& blocks = trace.apis.blocks;
  const bool says_nothing =
      std::all_of(streams.begin(), streams.end(), [](int64_t of) { return of == kNoStream; }) &&
      std::all_of(blocks.begin(), blocks.end(), [](uint8_t of) { return of == 0; });
  if (says_nothing) {
    trace.apis.stream.clear();
    trace.apis.blocks.clear();
  }
  return ok_status();
}

Status load_monitors(store::Database& database, const Request& request, Trace& trace) {
  std::map<std::pair<std::string, int64_t>, Monitor> monitors;
  SONDE_TRY(store::scan(database, "monitor_type, device_id, start_ns, end_ns, value",
                        "(SELECT * FROM v_monitor WHERE device_type = 'gpu' ORDER BY start_ns, id)",
                        {}, [&](const store::Row& row) {
                          const int64_t gpu = row.integer_or(1, 0);
                          const Interval time = {row.integer(2), row.integer_or(3, row.integer(2))};
                          if (time.start_ns >= request.window.select.end_ns ||
                              time.end_ns < request.window.select.start_ns ||
                              (request.gpu && *request.gpu != gpu)) {
                            return;
                          }
                          Monitor& monitor = monitors[{std::string(row.text(0)), gpu}];
                          monitor.readings.push_back({time, row.real(4)});
                        }));
  for (auto& [key, monitor] : monitors) {
    monitor.what = key.first;
    monitor.gpu = key.second;
    trace.monitors.push_back(std::move(monitor));
  }
  return ok_status();
}

// The kernel counts from the start of a process: a window takes what was added within it.
Status load_cpu_time(store::Database& database, const Request& request, Trace& trace) {
  struct Reading {
    int64_t first_ns = 0, last_ns = 0;
    bool is_wait = false;
  };
  const Interval select = request.window.select;
  std::map<std::pair<std::string, int64_t>, Reading> readings;
  SONDE_TRY(store::scan(
      database, "monitor_type, device_id, start_ns, end_ns, value",
      "(SELECT * FROM v_monitor WHERE device_type = 'process' AND monitor_type IN "
      "('cpu_wait_ms', 'cpu_user_ms', 'cpu_system_ms') ORDER BY start_ns, id)",
      {}, [&](const store::Row& row) {
        const int64_t start_ns = row.integer(2), value_ns = std::llround(row.real(4) * 1e6);
        if (start_ns >= select.end_ns) return;
        const auto key = std::pair(std::string(row.text(0)), row.integer_or(1, 0));
        Reading& reading = readings[key];
        reading.is_wait = key.first == "cpu_wait_ms";
        if (row.integer_or(3, start_ns) < select.start_ns) reading.first_ns = value_ns;
        reading.last_ns = std::max(reading.last_ns, value_ns);
      }));
  CpuTime sum;
  bool is_known = false;
  for (const auto& [key, reading] : readings) {
    (reading.is_wait ? sum.waited_ns : sum.used_ns) += reading.last_ns - reading.first_ns;
    is_known = is_known || reading.is_wait;
  }
  if (is_known) trace.cpu_time = sum;
  return ok_status();
}

}  // namespace sonde::trace
