#include "export/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "export/keep.h"
#include "export/links.h"
#include "store/api_domain.h"
#include "store/scan.h"

namespace sonde::exporting {

using store::Database;

namespace {

// Dense numbers for pairs or triples of ids, in the order of first use. Rows come in bursts of the
// same key, so the last one is tried first.
template <typename Key>
class Numbering {
 public:
  // The number of `key`, and whether it is new.
  std::pair<uint32_t, bool> number(const Key& key) {
    if (count_ > 0 && key == last_key_) return {last_, false};
    const auto [at, added] = numbers_.try_emplace(key, count_);
    if (added) ++count_;
    last_key_ = key;
    last_ = at->second;
    return {last_, added};
  }

 private:
  std::map<Key, uint32_t> numbers_;
  Key last_key_{};
  uint32_t last_ = 0, count_ = 0;
};

// Loads one .rpd. The tables are read in the order of the functions in load().
class Loader {
 public:
  Loader(store::Reader& reader, const Options& options)
      : database_(reader.database()), options_(options), grid_in_items_(reader.made_by_sonde()) {}

  Result<Events> load(bool all_of_ops) {
    SONDE_TRY(look_for_imports());
    SONDE_TRY(load_names());
    SONDE_TRY(load_ops());
    SONDE_TRY(load_details());
    if (all_of_ops) SONDE_TRY(load_op_extras());
    if (all_of_ops && options_.arguments) SONDE_TRY(load_op_args());
    SONDE_TRY(load_apis());
    SONDE_TRY(load_links());
    SONDE_TRY(load_args());
    SONDE_TRY(load_processes());
    SONDE_TRY(load_thread_names());
    SONDE_TRY(load_devices());
    SONDE_TRY(load_counters());
    SONDE_TRY(load_monitors());
    set_first_time();
    return std::move(events_);
  }

 private:
  // scan() of the rows that overlap the window.
  template <typename OnRow>
  Status scan_window(const std::string& columns, const std::string& source, OnRow&& on_row) {
    const bool all = options_.from_ns == std::numeric_limits<int64_t>::min() &&
                     options_.to_ns == std::numeric_limits<int64_t>::max();
    if (all) return store::scan(database_, columns, source, {}, on_row);
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
  uint32_t queue_number(int64_t gpu_id, int64_t process_id, int64_t queue_id);
  uint32_t shape_number(const store::Row& row);
  uint32_t name_number(int64_t id);

  Status look_for_imports();
  Status load_names();
  Status load_ops();
  Status load_details();
  Status load_op_extras();
  Status load_op_args();
  Status load_apis();
  Status load_links();
  Status load_args();
  Status load_processes();
  Status load_thread_names();
  Status load_devices();
  Status load_counters();
  Status load_monitors();
  void set_queue_pids(const std::map<int64_t, int64_t>& pid_of_process);
  void set_first_time();

  Database& database_;
  const Options& options_;
  const bool grid_in_items_;
  Events events_;
  IdIndex op_ids_, api_ids_;
  Numbering<std::pair<int64_t, std::pair<int64_t, int64_t>>> queue_numbers_;
  Numbering<std::pair<int64_t, int64_t>> thread_numbers_;
  Numbering<std::pair<int64_t, std::string>> series_numbers_;
  std::map<int64_t, uint32_t> lost_names_;
  std::vector<int64_t> args_ids_;
};

bool Loader::accept(int64_t start_ns, int64_t end_ns) {
  if (is_time(start_ns) && end_ns >= start_ns) return true;
  ++events_.skipped;
  return false;
}

// A recording counts from the machine's start, where nothing happens at 0; RPD's tools write 0 for
// times that they do not know. Traces of other tools may count from their own beginning.
Status Loader::look_for_imports() {
  if (!grid_in_items_) return ok_status();
  return store::scan(database_, "key", "sonde_note WHERE key = 'imported from'", {},
                     [&](const store::Row&) { ++events_.imports; });
}

Status Loader::load_names() {
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
uint32_t Loader::name_number(int64_t id) {
  if (const uint32_t index = events_.names.find(id); index != kNone) return index;
  const auto [at, added] = lost_names_.try_emplace(id, events_.names.size());
  if (added) {
    events_.names.append(fmt::format("<string {}>", id));
    events_.op_class.push_back(OpClass::kUnknown);
    events_.is_marker.push_back(false);
  }
  return at->second;
}

uint32_t Loader::queue_number(int64_t gpu_id, int64_t process_id, int64_t queue_id) {
  const auto [number, added] = queue_numbers_.number({gpu_id, {process_id, queue_id}});
  if (added) events_.queues.push_back({gpu_id, process_id, queue_id});
  return number;
}

Status Loader::load_ops() {
  SONDE_TRY(scan_window("id, gpu_id, queue_id, start_ns, end_ns, name_id, type_id", "v_op",
                        [&](const store::Row& row) {
                          Op op;
                          op.start_ns = row.integer(3);
                          op.end_ns = row.integer(4);
                          if (!accept(op.start_ns, op.end_ns)) return;
                          op_ids_.add(row.integer(0));
                          op.type = name_number(row.integer(6));
                          op.name = name_number(row.integer(5));
                          if (events_.names.at(op.name).empty()) op.name = op.type;
                          op.queue = queue_number(row.integer(1), -1, row.integer(2));
                          events_.ops.push_back(op);
                        }));
  op_ids_.finish();
  return ok_status();
}

// Axes that are not used count 1, as in a launch; a first axis of 0 means nothing is known.
void read_axes(const store::Row& row, int column, int64_t (&axes)[3]) {
  if (row.integer(column) <= 0) return;
  for (int i = 0; i < 3; ++i) axes[i] = std::max<int64_t>(row.integer(column + i), 1);
}

uint32_t Loader::shape_number(const store::Row& row) {
  Shape shape;
  read_axes(row, 6, shape.group);
  // Sonde stores work items, as OpenCL and HSA count; viewers show work groups.
  read_axes(row, 3, grid_in_items_ ? shape.items : shape.grid);
  if (shape.items[0] > 0 && shape.group[0] > 0) {
    for (int i = 0; i < 3; ++i) {
      shape.grid[i] = (shape.items[i] - 1) / shape.group[i] + 1;
    }
  }
  shape.group_segment_bytes = row.integer_or(9, -1);
  shape.private_segment_bytes = row.integer_or(10, -1);
  if (shape == Shape{}) return kNone;

  auto& shapes = events_.shapes;
  // Programs launch few shapes, and mostly the ones they launched just before.
  const size_t lookback = std::min<size_t>(shapes.size(), 32);
  for (size_t i = 1; i <= lookback; ++i) {
    if (shapes[shapes.size() - i] == shape) return static_cast<uint32_t>(shapes.size() - i);
  }
  shapes.push_back(shape);
  return static_cast<uint32_t>(shapes.size() - 1);
}

Status Loader::load_details() {
  if (events_.ops.empty()) return ok_status();
  std::vector<bool> seen(events_.ops.size());
  SONDE_TRY(store::scan(database_,
                        "op_id, process_id, bytes, grid_x, grid_y, grid_z, group_x, group_y, "
                        "group_z, group_segment_bytes, private_segment_bytes, status",
                        "v_op_detail", {}, [&](const store::Row& row) {
                          const uint32_t index = op_ids_.find(row.integer(0));
                          if (index == kNone || seen[index]) return;
                          seen[index] = true;
                          Op& op = events_.ops[index];
                          op.bytes = row.integer_or(2, -1);
                          op.status = static_cast<int32_t>(row.integer(11));
                          op.shape = shape_number(row);
                          if (!row.is_null(1)) {
                            const Queue queue = events_.queues[op.queue];
                            op.queue = queue_number(queue.gpu_id, row.integer(1), queue.queue_id);
                          }
                        }));
  return ok_status();
}

Status Loader::load_op_extras() {
  events_.op_extras.resize(events_.ops.size());
  const auto extra_of = [&](int64_t id) {
    const uint32_t index = op_ids_.find(id);
    return index == kNone ? nullptr : &events_.op_extras[index];
  };
  SONDE_TRY(store::scan(database_, "id, sequence_id", "v_op WHERE sequence_id <> 0", {},
                        [&](const store::Row& row) {
                          OpExtra* const extra = extra_of(row.integer(0));
                          if (extra != nullptr) extra->sequence = row.integer(1);
                        }));
  SONDE_TRY(store::scan(database_, "op_id, queued_ns, submitted_ns",
                        "v_op_detail WHERE queued_ns IS NOT NULL OR submitted_ns IS NOT NULL", {},
                        [&](const store::Row& row) {
                          OpExtra* const extra = extra_of(row.integer(0));
                          if (extra == nullptr) return;
                          extra->queued_ns = row.integer_or(1, -1);
                          extra->submitted_ns = row.integer_or(2, -1);
                        }));
  SONDE_ASSIGN(const bool counters, database_.has_table("rocpd_counter"));
  if (!counters) return ok_status();
  SONDE_TRY(store::scan(database_, "op_id, name_id, value", "rocpd_counter", {},
                        [&](const store::Row& row) {
                          const uint32_t op = op_ids_.find(row.integer(0));
                          if (op == kNone || !std::isfinite(row.real(2))) return;
                          const uint32_t name = name_number(row.integer(1));
                          events_.op_counters.push_back({op, name, row.real(2)});
                        }));
  const auto before = [](const OpCounter& a, const OpCounter& b) { return a.op < b.op; };
  std::stable_sort(events_.op_counters.begin(), events_.op_counters.end(), before);
  return ok_status();
}

Status Loader::load_op_args() {
  return store::scan(database_, "op_id, args", "v_op_args", {}, [&](const store::Row& row) {
    const uint32_t index = op_ids_.find(row.integer(0));
    if (index == kNone) return;
    events_.ops[index].args = events_.op_args.size();
    events_.op_args.append(row.text(1));
  });
}

Status Loader::load_apis() {
  SONDE_TRY(scan_window(
      "id, pid, tid, start_ns, end_ns, name_id, domain_id, category_id, "
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
        const auto [thread, added] = thread_numbers_.number({row.integer(1), row.integer(2)});
        if (added) events_.threads.push_back({row.integer(1), row.integer(2), {}});
        api.thread = thread;
        events_.apis.push_back(api);
        args_ids_.push_back(row.integer(8));
      }));
  api_ids_.finish();
  return ok_status();
}

Status Loader::load_links() {
  SONDE_TRY(store::scan(database_, "api_id, op_id", "v_api_op", {}, [&](const store::Row& row) {
    const Link link{api_ids_.find(row.integer(0)), op_ids_.find(row.integer(1))};
    if (link.api != kNone && link.op != kNone) events_.links.push_back(link);
  }));
  index_links(events_);
  return ok_status();
}

// The strings between the lowest and the highest id in use: all of them for a whole export, and
// about those of the window for a part, as ids grow with time.
Status Loader::load_args() {
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
void Loader::set_queue_pids(const std::map<int64_t, int64_t>& pid_of_process) {
  for (Queue& queue : events_.queues) {
    const auto at = pid_of_process.find(queue.process_id);
    if (at != pid_of_process.end()) queue.pid = at->second;
  }
  for (const Op& op : events_.ops) {
    Queue& queue = events_.queues[op.queue];
    if (queue.pid >= 0 || op.first_link == kNone) continue;
    queue.pid = events_.threads[events_.apis[events_.links[op.first_link].api].thread].pid;
  }
}

Status Loader::load_processes() {
  std::map<int64_t, size_t> index_of_pid;
  for (const Thread& thread : events_.threads) {
    if (!index_of_pid.try_emplace(thread.pid, events_.processes.size()).second) continue;
    events_.processes.push_back({thread.pid});
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
                          process.command = row.text(2);
                        }));
  set_queue_pids(pid_of_process);
  return ok_status();
}

Status Loader::load_thread_names() {
  std::map<std::pair<int64_t, int64_t>, size_t> index;
  for (size_t i = 0; i < events_.threads.size(); ++i) {
    index[{events_.threads[i].pid, events_.threads[i].tid}] = i;
  }
  SONDE_TRY(store::scan(database_, "pid, tid, name", "v_thread", {}, [&](const store::Row& row) {
    const auto at = index.find({row.integer(0), row.integer(1)});
    if (at != index.end() && !row.text(2).empty()) events_.threads[at->second].name = row.text(2);
  }));
  return ok_status();
}

Status Loader::load_devices() {
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

Status Loader::load_counters() {
  SONDE_TRY(store::scan(database_, "pid, time_ns, name, value, tid", "v_counter", {},
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
                        }));
  return ok_status();
}

Status Loader::load_monitors() {
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
                          const auto [series, added] = series_numbers_.number({-1, name});
                          if (added) events_.series.push_back({-1, name});
                          events_.samples.push_back({time_ns, value, series});
                        }));
  const auto before = [](const Sample& a, const Sample& b) {
    return a.series != b.series ? a.series < b.series : a.time_ns < b.time_ns;
  };
  std::stable_sort(events_.samples.begin(), events_.samples.end(), before);
  return ok_status();
}

void Loader::set_first_time() {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const Op& op : events_.ops) first = std::min(first, op.start_ns);
  for (size_t i = 0; i < events_.api_count(); ++i) {
    first = std::min(first, events_.apis[i].start_ns);
  }
  for (const Sample& sample : events_.samples) first = std::min(first, sample.time_ns);
  events_.first_ns = first == std::numeric_limits<int64_t>::max() ? 0 : first;
}

}  // namespace

bool Shape::operator==(const Shape& other) const {
  return std::equal(items, items + 3, other.items) && std::equal(grid, grid + 3, other.grid) &&
         std::equal(group, group + 3, other.group) &&
         group_segment_bytes == other.group_segment_bytes &&
         private_segment_bytes == other.private_segment_bytes;
}

std::string_view Events::title(const Api& api) const {
  if (is_mark(api) && api.args != kNone) return args.at(api.args);
  return names.at(api.name);
}

std::string_view Events::arguments(const Api& api) const {
  return is_mark(api) ? std::string_view() : args.at(api.args);
}

std::string_view Events::domain(const Api& api) const {
  if (const auto text = names.at(api.domain); !text.empty()) return text;
  if (is_mark(api)) return "marker";
  const std::string_view told = store::domain_of_api(names.at(api.name));
  return told.empty() ? "api" : told;
}

uint32_t Events::device_of(const Queue& queue) const {
  const auto at =
      std::lower_bound(devices.begin(), devices.end(), queue.gpu_id,
                       [](const Device& device, int64_t gpu_id) { return device.gpu_id < gpu_id; });
  return static_cast<uint32_t>(at - devices.begin());
}

Result<Events> load_events(store::Reader& reader, const Options& options, bool all_of_ops) {
  SONDE_ASSIGN(Events events, Loader(reader, options).load(all_of_ops));
  keep_wanted(events, options);
  return events;
}

}  // namespace sonde::exporting
