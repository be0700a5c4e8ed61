#include "export/events/event_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/redact.h"
#include "export/events/links.h"

namespace sonde::exporting {

Result<Events> EventLoader::load(OfOps of_ops, const CallSamples* call_samples) {
  const bool all_of_ops = of_ops != OfOps::kUsual;
  SONDE_TRY(look_for_imports());
  SONDE_TRY(load_names());
  SONDE_TRY(load_ops(all_of_ops));
  SONDE_TRY(load_details(all_of_ops));
  if (all_of_ops) SONDE_TRY(load_op_counters(of_ops == OfOps::kL2Channels));
  if (all_of_ops) SONDE_TRY(load_kernel_codes());
  if (all_of_ops && options_.arguments) SONDE_TRY(load_op_args());
  SONDE_TRY(load_apis());
  SONDE_TRY(load_links());
  SONDE_TRY(load_args());
  if (call_samples != nullptr) add_sampled_threads(*call_samples);
  SONDE_TRY(load_counters());
  SONDE_TRY(load_monitors());
  SONDE_TRY(load_processes());
  SONDE_TRY(load_thread_names());
  SONDE_TRY(load_devices());
  set_first_time(call_samples);
  return std::move(events_);
}

bool EventLoader::accept(int64_t start_ns, int64_t end_ns) {
  if (is_time(start_ns) && end_ns >= start_ns) return true;
  ++events_.skipped;
  return false;
}

// How many rows to make room for, by their ids; a damaged id asks for no more than the file can
// hold.
Result<size_t> EventLoader::rows_to_expect(const char* table) {
  constexpr int64_t kShortestRow = 16;  // bytes
  const std::string from = std::string("(id) FROM ") + table + ")";
  SONDE_ASSIGN(const int64_t ids,
               database_.integer("SELECT (SELECT max" + from + " - (SELECT min" + from + " + 1"));
  SONDE_ASSIGN(const int64_t pages, database_.integer("PRAGMA page_count"));
  SONDE_ASSIGN(const int64_t page_bytes, database_.integer("PRAGMA page_size"));
  const int64_t most = pages * page_bytes / kShortestRow;
  return static_cast<size_t>(std::clamp<int64_t>(ids, 0, most));
}

// A recording counts from the machine's start, where nothing happens at 0; RPD's tools write 0 for
// times that they do not know. Traces of other tools may count from their own beginning.
Status EventLoader::look_for_imports() {
  if (!made_by_sonde_) return ok_status();
  return store::scan(database_, "key", "sonde_note WHERE key = 'imported from'", {},
                     [&](const store::Row&) { ++events_.imports; });
}

Status EventLoader::load_names() {
  SONDE_TRY(store::scan(database_, "id, string", "v_string", {}, [&](const store::Row& row) {
    const std::string_view text = row.text(1);
    events_.names.add(row.integer(0), text);
    events_.op_class.push_back(store::class_of_type(text));
    events_.is_marker.push_back(text == "UserMarker");
  }));
  events_.names.finish();
  return ok_status();
}

// A row whose string was lost is shown as the corrected views show it, and not left out.
uint32_t EventLoader::name_number(int64_t id) {
  if (const uint32_t index = events_.names.find(id); index != kNone) return index;
  const auto [at, added] = lost_names_.try_emplace(id, events_.names.size());
  if (added) append_name(fmt::format("<string {}>", id));
  return at->second;
}

// One that no row has.
void EventLoader::append_name(const std::string& name) {
  events_.names.append(name);
  events_.op_class.push_back(OpClass::kUnknown);
  events_.is_marker.push_back(false);
}

Status EventLoader::load_apis() {
  if (takes_all()) {
    SONDE_ASSIGN(const size_t rows, rows_to_expect("v_api"));
    events_.apis.reserve(rows + 1);
    args_ids_.reserve(rows);
  }
  SONDE_TRY(
      scan_window("id, pid, tid, start_ns, end_ns, name_id, domain_id, category_id, "
                  "args_id",
                  "v_api", [&](const store::Row& row) {
                    Api api;
                    api.start_ns = row.integer(3);
                    api.end_ns = row.integer(4);
                    if (!accept(api.start_ns, api.end_ns)) return;
                    api.id = row.integer(0);
                    api_ids_.add(api.id);
                    api.name = name_number(row.integer(5));
                    api.domain = row.is_null(6) ? kNone : events_.names.find(row.integer(6));
                    api.category = row.is_null(7) ? kNone : events_.names.find(row.integer(7));
                    api.args = kNone;
                    add_thread(row.integer(1), row.integer(2));
                    api.thread = thread_numbers_.number({row.integer(1), row.integer(2)}).first;
                    events_.apis.push_back(api);
                    args_ids_.push_back(row.integer(8));
                  }));
  api_ids_.finish();
  return ok_status();
}

void EventLoader::add_thread(int64_t pid, int64_t tid) {
  if (thread_numbers_.number({pid, tid}).second) events_.threads.push_back({pid, tid, {}});
}

void EventLoader::add_sampled_threads(const CallSamples& call_samples) {
  for (const CallSample& sample : call_samples.samples) add_thread(sample.pid, sample.tid);
}

Status EventLoader::load_links() {
  events_.links.reserve(takes_all() ? events_.ops.size() : 0);
  SONDE_TRY(store::scan(database_, "api_id, op_id", "v_api_op", {}, [&](const store::Row& row) {
    const Link link{api_ids_.find(row.integer(0)), op_ids_.find(row.integer(1))};
    if (link.api != kNone && link.op != kNone) events_.links.push_back(link);
  }));
  index_links(events_);
  return ok_status();
}

// The strings between the lowest and the highest id in use: all of them for a whole export, and
// about those of the window for a part, as ids grow with time.
Status EventLoader::load_args() {
  if (args_ids_.empty()) return ok_status();
  const bool all = options_.arguments;
  int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < args_ids_.size(); ++i) {
    if (!all && !events_.is_marker[events_.apis[i].name]) continue;
    low = std::min(low, args_ids_[i]);
    high = std::max(high, args_ids_[i]);
  }
  if (low > high) return ok_status();
  SONDE_TRY(
      store::scan(database_, "id, string", "v_ustring WHERE id BETWEEN ?1 AND ?2", {low, high},
                  [&](const store::Row& row) { events_.args.add(row.integer(0), row.text(1)); }));
  events_.args.finish();
  for (size_t i = 0; i < args_ids_.size(); ++i) {
    Api& api = events_.apis[i];
    if (!all && !events_.is_marker[api.name]) continue;
    api.args = events_.args.find(args_ids_[i]);
    if (events_.args.at(api.args).empty()) api.args = kNone;
  }
  args_ids_ = {};
  return ok_status();
}

// From the op details, or in files without them from the calls that launched the ops.
void EventLoader::set_queue_pids(const std::map<int64_t, int64_t>& pid_of_process) {
  for (Queue& queue : events_.queues) {
    const auto at = pid_of_process.find(queue.process_id);
    if (at != pid_of_process.end()) queue.pid = at->second;
  }
  for (const Op& op : events_.ops) {
    Queue& queue = events_.queues[op.queue];
    const Api* const call = events_.launcher(op);
    if (queue.pid == kNoPid && call != nullptr) queue.pid = events_.threads[call->thread].pid;
  }
}

Status EventLoader::load_processes() {
  std::map<int64_t, size_t> index_of_pid;
  const auto add = [&](int64_t pid) {
    if (!index_of_pid.try_emplace(pid, events_.processes.size()).second) return;
    events_.processes.push_back({pid});
  };
  for (const Thread& thread : events_.threads) add(thread.pid);
  for (const Series& series : events_.series) {
    if (!series.of_machine()) add(series.pid);
  }
  std::map<int64_t, int64_t> pid_of_process;
  SONDE_TRY(store::scan(database_, "pid, start_ns, command, rank, id", "v_process", {},
                        [&](const store::Row& row) {
                          pid_of_process[row.integer(4)] = row.integer(0);
                          const auto at = index_of_pid.find(row.integer(0));
                          if (at == index_of_pid.end()) return;
                          Process& process = events_.processes[at->second];
                          if (!row.is_null(3)) process.rank = row.integer(3);
                          // After an exec the last image is what the process is known as.
                          if (row.integer(1) < process.image_start_ns || row.text(2).empty())
                            return;
                          process.image_start_ns = row.integer(1);
                          process.command = redact_text(row.text(2));
                        }));
  set_queue_pids(pid_of_process);
  if (!made_by_sonde_) return ok_status();  // only Sonde's own files know it
  return store::scan(database_, "pid, executable", "sonde_process", {}, [&](const store::Row& row) {
    const auto at = index_of_pid.find(row.integer(0));
    if (at == index_of_pid.end() || row.text(1).empty()) return;
    events_.processes[at->second].executable = row.text(1);
  });
}

Status EventLoader::load_thread_names() {
  std::map<std::pair<int64_t, int64_t>, Thread*> threads;
  for (Thread& thread : events_.threads) threads[{thread.pid, thread.tid}] = &thread;
  return store::scan(database_, "pid, tid, name", "v_thread", {}, [&](const store::Row& row) {
    const auto at = threads.find({row.integer(0), row.integer(1)});
    if (at != threads.end() && !row.text(2).empty()) at->second->name = row.text(2);
  });
}

Status EventLoader::load_devices() {
  std::map<int64_t, Device> devices;
  for (const Queue& queue : events_.queues) devices[queue.gpu_id].gpu_id = queue.gpu_id;
  SONDE_TRY(store::scan(database_,
                        "gpu_id, backend, name, vendor, kind, memory_bytes, compute_units",
                        "v_device", {}, [&](const store::Row& row) {
                          const auto at = devices.find(row.integer(0));
                          if (at == devices.end() || !at->second.name.empty()) return;
                          Device& device = at->second;
                          device.backend = row.text(1);
                          device.name = row.text(2);
                          device.vendor = row.text(3);
                          device.kind = row.text(4);
                          device.memory_bytes = row.integer_or(5, -1);
                          device.compute_units = row.integer_or(6, -1);
                        }));
  for (auto& [gpu_id, device] : devices) events_.devices.push_back(std::move(device));
  return ok_status();
}

Status EventLoader::load_counters() {
  return store::scan(database_, "pid, time_ns, name, value, tid", "v_counter", {},
                     [&](const store::Row& row) {
                       const int64_t time_ns = row.integer(1);
                       if (time_ns < options_.from_ns || time_ns >= options_.to_ns) return;
                       const double value = row.real(3);
                       if (!is_time(time_ns) || row.is_null(3) || !std::isfinite(value)) {
                         ++events_.skipped;
                         return;
                       }
                       const auto [series, added] =
                           series_numbers_.number({row.integer(0), std::string(row.text(2))});
                       if (added)
                         events_.series.push_back({row.integer(0), std::string(row.text(2))});
                       events_.samples.push_back({time_ns, value, series, row.integer_or(4, 0)});
                     });
}

Status EventLoader::load_monitors() {
  SONDE_TRY(scan_window("start_ns, value, device_type, device_id, monitor_type", "v_monitor",
                        [&](const store::Row& row) {
                          const int64_t time_ns = row.integer(0);
                          const std::string text(row.text(1));
                          char* end = nullptr;
                          const double value = std::strtod(text.c_str(), &end);
                          if (!is_time(time_ns) || end == text.c_str() || !std::isfinite(value)) {
                            ++events_.skipped;
                            return;
                          }
                          std::string name(row.text(2));
                          name += ' ';
                          name += row.text(3);
                          name += ' ';
                          name += row.text(4);
                          const auto [series, added] = series_numbers_.number({kNoPid, name});
                          if (added) events_.series.push_back({kNoPid, name});
                          events_.samples.push_back({time_ns, value, series});
                        }));
  const auto before = [](const Sample& a, const Sample& b) {
    return a.series != b.series ? a.series < b.series : a.time_ns < b.time_ns;
  };
  std::stable_sort(events_.samples.begin(), events_.samples.end(), before);
  return ok_status();
}

void EventLoader::set_first_time(const CallSamples* call_samples) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const Op& op : events_.ops) first = std::min(first, op.start_ns);
  for (size_t i = 0; i < events_.api_count(); ++i) {
    first = std::min(first, events_.apis[i].start_ns);
  }
  for (const Sample& sample : events_.samples) first = std::min(first, sample.time_ns);
  for (size_t i = 0; call_samples != nullptr && i < call_samples->samples.size(); ++i) {
    if (is_time(call_samples->samples[i].time_ns)) {
      first = std::min(first, call_samples->samples[i].time_ns);
    }
  }
  events_.first_ns = first == std::numeric_limits<int64_t>::max() ? 0 : first;
}

}  // namespace sonde::exporting
