// EventLoader: reads one .rpd into Events, a table at a time. Used by load_events() alone; its
// parts are in event_loader.cpp (names, calls, processes, values) and event_loader_ops.cpp
// (operations).
#pragma once

#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "export/events/call_samples.h"
#include "export/events/events.h"
#include "export/events/numbering.h"
#include "store/scan.h"

namespace sonde::exporting {

class EventLoader {
 public:
  EventLoader(store::Reader& reader, const Options& options)
      : database_(reader.database()), options_(options), made_by_sonde_(reader.made_by_sonde()) {}

  // At most once. The order is that of the functions below.
  Result<Events> load(OfOps of_ops, const CallSamples* call_samples);

 private:
  bool takes_all() const {
    return options_.from_ns == std::numeric_limits<int64_t>::min() &&
           options_.to_ns == std::numeric_limits<int64_t>::max();
  }
  // scan() of the rows that overlap the window.
  template <typename OnRow>
  Status scan_window(const std::string& columns, const std::string& source, OnRow&& on_row) {
    if (takes_all()) return store::scan(database_, columns, source, {}, on_row);
    const char* const condition = options_.by_start
                                      ? " WHERE start_ns < ?2 AND start_ns >= ?1"
                                      : " WHERE start_ns < ?2 AND (end_ns > ?1 OR start_ns >= ?1)";
    return store::scan(database_, columns, source + condition, {options_.from_ns, options_.to_ns},
                       on_row);
  }
  bool is_time(int64_t time_ns) const {
    return time_ns > 0 || (time_ns == 0 && events_.imports > 0);
  }
  bool accept(int64_t start_ns, int64_t end_ns);
  Result<size_t> rows_to_expect(const char* table);
  uint32_t queue_number(int64_t gpu_id, int64_t process_id, int64_t queue_id);
  uint32_t shape_number(const store::Row& row);
  uint32_t name_number(int64_t id);
  void append_name(const std::string& name);

  Status look_for_imports();
  Status load_names();
  Status load_ops(bool with_extras);
  Status load_details(bool with_extras);
  Status load_op_counters(bool with_channels);
  Status load_channels();
  Status load_kernel_codes();
  Status load_op_args();
  Status load_apis();
  Status load_links();
  Status load_args();
  void add_thread(int64_t pid, int64_t tid);
  void add_sampled_threads(const CallSamples& call_samples);
  Status load_processes();
  Status load_thread_names();
  Status load_devices();
  Status load_counters();
  Status load_monitors();
  void set_queue_pids(const std::map<int64_t, int64_t>& pid_of_process);
  void set_first_time(const CallSamples* call_samples);

  store::Database& database_;
  const Options& options_;
  const bool made_by_sonde_;
  Events events_;
  IdIndex op_ids_, api_ids_;
  Numbering<std::array<int64_t, 3>> queue_numbers_;  // GPU, process, queue
  Numbering<std::array<int64_t, 2>> thread_numbers_;
  Numbering<std::array<int64_t, 8>> shape_numbers_;  // grid, group and segments as they are stored
  Numbering<std::pair<int64_t, std::string>> series_numbers_;
  std::map<int64_t, uint32_t> lost_names_;
  std::vector<int64_t> args_ids_;
};

}  // namespace sonde::exporting
