// rocpd: the SQLite database of rocprofv3, schema version 3 (docs/exports.md), for rocpd's own
// tools. Ids are those of the system where they are unique: pid, tid, correlation id.
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "base/quoted.h"
#include "base/strings.h"
#include "export/events/events.h"
#include "export/exporter.h"
#include "export/rocpd/schema.h"
#include "export/rocprof/words.h"
#include "store/row_buffer.h"

namespace sonde::exporting {

namespace {

using store::Nullable;
using store::RowBuffer;

constexpr int64_t kNode = 1;
constexpr int64_t kCodeObject = 1;  // unknown: an .rpd has kernels' names only
constexpr int64_t kDefaultStream = 0;

// Version 7: the time in ms, then random.
Result<std::string> new_guid() {
  uint8_t bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    return errno_error("no random numbers", "rocpd guid", errno);
  }
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto ms =
      static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
  for (int i = 0; i < 6; ++i) bytes[i] = static_cast<uint8_t>(ms >> (8 * (5 - i)));
  bytes[6] = static_cast<uint8_t>(0x70 | (bytes[6] & 0x0f));
  bytes[8] = static_cast<uint8_t>(0x80 | (bytes[8] & 0x3f));
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

// Ids that are a number of the system's where nothing else has it, else the next free one.
class UniqueIds {
 public:
  int64_t take(int64_t wanted) {
    while (!taken_.insert(wanted).second) wanted = next_free_++;
    return wanted;
  }

 private:
  std::set<int64_t> taken_;
  int64_t next_free_ = int64_t{1} << 40;
};

class RocpdWriter {
 public:
  RocpdWriter(const Events& events, store::Database& database, std::string guid)
      : events_(events), database_(database), guid_(std::move(guid)) {}

  Result<Counts> write() {
    SONDE_TRY(database_.exec(rocpd_schema_sql(guid_)));
    SONDE_TRY(prepare());
    SONDE_TRY(places());
    SONDE_TRY(kernel_symbols());
    for (size_t i = 0; i < events_.api_count(); ++i) SONDE_TRY(api(events_.apis[i]));
    for (const Op& op : events_.ops) SONDE_TRY(this->op(op));
    SONDE_TRY(samples());
    SONDE_TRY(flush());
    counts_.skipped = events_.skipped;
    return counts_;
  }

 private:
  Status prepare();
  Status flush();
  template <typename Buffer, typename... Values>
  Status add(Buffer& buffer, const Values&... values) {
    buffer.add(values...);
    return buffer.full() ? buffer.flush() : ok_status();
  }
  Status insert(const char* table, const std::string& columns, const std::string& values);

  Status places();
  Status processes();
  Status threads();
  Status agents();
  Status queues();
  Status kernel_symbols();
  Result<int64_t> string(std::string_view text);
  Result<int64_t> event(std::string_view category, int64_t correlation, const std::string& extra);
  Status api(const Api& api);
  Status arguments(int64_t event_id, std::string_view text);
  Status op(const Op& op);
  Status kernel(const Op& op, int64_t pid, int64_t tid, int64_t event_id);
  Status op_counters(const Op& op, int64_t pid, int64_t event_id);
  Status copy(const Op& op, int64_t pid, int64_t tid, int64_t event_id);
  Result<int64_t> track(int64_t pid, int64_t tid, std::string_view name);
  Status samples();
  int64_t any_pid() const { return events_.processes.empty() ? 0 : events_.processes[0].pid; }

  const Events& events_;
  store::Database& database_;
  const std::string guid_;
  RowBuffer<2> strings_;
  RowBuffer<6> event_rows_;
  RowBuffer<5> arg_rows_;
  RowBuffer<8> region_rows_;
  RowBuffer<19> kernel_rows_;
  RowBuffer<13> copy_rows_;
  RowBuffer<3> sample_rows_;
  RowBuffer<3> pmc_rows_;
  std::unordered_map<std::string, int64_t> string_ids_;
  std::vector<int64_t> thread_ids_, queue_ids_;
  std::map<uint32_t, int64_t> kernel_ids_;               // by index of names
  std::map<std::array<int64_t, 3>, int64_t> track_ids_;  // by pid, tid and name
  std::map<uint32_t, int64_t> pmc_ids_;                  // of counters of kernels
  size_t next_counter_ = 0;                              // in Events::op_counters
  int64_t next_event_ = 0, next_dispatch_ = 0, next_pmc_ = 0;
  Counts counts_;
};

Status RocpdWriter::prepare() {
  const auto into = [&](const char* table, const char* columns) {
    return fmt::format("INSERT INTO {} ({})", rocpd_table(table, guid_), columns);
  };
  SONDE_TRY(strings_.prepare(database_, into("rocpd_string", "id, string")));
  SONDE_TRY(event_rows_.prepare(
      database_,
      into("rocpd_event", "id, category_id, stack_id, parent_stack_id, correlation_id, extdata")));
  SONDE_TRY(
      arg_rows_.prepare(database_, into("rocpd_arg", "event_id, position, type, name, value")));
  SONDE_TRY(region_rows_.prepare(
      database_, into("rocpd_region", "id, nid, pid, tid, start, \"end\", name_id, event_id")));
  SONDE_TRY(kernel_rows_.prepare(
      database_,
      into("rocpd_kernel_dispatch",
           "nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", "
           "private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, "
           "workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id")));
  SONDE_TRY(copy_rows_.prepare(
      database_, into("rocpd_memory_copy",
                      "nid, pid, tid, start, \"end\", name_id, dst_agent_id, src_agent_id, size, "
                      "queue_id, stream_id, event_id, extdata")));
  SONDE_TRY(sample_rows_.prepare(database_, into("rocpd_sample", "track_id, timestamp, event_id")));
  return pmc_rows_.prepare(database_, into("rocpd_pmc_event", "event_id, pmc_id, value"));
}

Status RocpdWriter::flush() {
  Status status = ok_status();
  const auto flush_all = [&](auto&... rows) { return ((status = rows.flush()).ok() && ...); };
  flush_all(strings_, event_rows_, arg_rows_, region_rows_, kernel_rows_, copy_rows_, sample_rows_,
            pmc_rows_);
  return status;
}

std::string sql_text(std::string_view text) {
  std::string valid = valid_utf8(text);
  std::erase(valid, '\0');
  return in_quotes(valid, '\'');
}

Status RocpdWriter::insert(const char* table, const std::string& columns,
                           const std::string& values) {
  return database_.exec(
      fmt::format("INSERT INTO {} ({}) VALUES ({})", rocpd_table(table, guid_), columns, values));
}

Status RocpdWriter::places() {
  SONDE_TRY(insert("rocpd_info_node", "id, hash, machine_id, system_name",
                   fmt::format("{}, 0, 'unknown', 'Linux'", kNode)));
  SONDE_TRY(processes());
  SONDE_TRY(threads());
  SONDE_TRY(agents());
  return queues();
}

Status RocpdWriter::processes() {
  std::set<int64_t> pids;
  for (const Process& process : events_.processes) {
    pids.insert(process.pid);
    const std::string extra =
        process.rank < 0 ? "{}" : fmt::format("{{\"rank\":{}}}", process.rank);
    SONDE_TRY(insert("rocpd_info_process", "id, nid, pid, start, command, extdata",
                     fmt::format("{0}, {1}, {0}, {2}, {3}, '{4}'", process.pid, kNode,
                                 process.image_start_ns, sql_text(process.command), extra)));
  }
  // Operations whose process made no call that was recorded.
  for (const Queue& queue : events_.queues) {
    const int64_t pid = queue.pid == kNoPid ? any_pid() : queue.pid;
    if (!pids.insert(pid).second) continue;
    SONDE_TRY(
        insert("rocpd_info_process", "id, nid, pid", fmt::format("{0}, {1}, {0}", pid, kNode)));
  }
  return ok_status();
}

Status RocpdWriter::threads() {
  UniqueIds ids;
  for (const Thread& thread : events_.threads) {
    thread_ids_.push_back(ids.take(thread.tid));
    SONDE_TRY(insert("rocpd_info_thread", "id, nid, pid, tid, name",
                     fmt::format("{}, {}, {}, {}, {}", thread_ids_.back(), kNode, thread.pid,
                                 thread.tid, sql_text(thread.name))));
  }
  return ok_status();
}

Status RocpdWriter::agents() {
  const char* const columns =
      "id, nid, pid, type, absolute_index, logical_index, type_index, name, vendor_name, "
      "product_name";
  SONDE_TRY(insert("rocpd_info_agent", columns,
                   fmt::format("{0}, {1}, {2}, 'CPU', {0}, {0}, 0, 'CPU', '', ''", kHostAgent,
                               kNode, any_pid())));
  for (const Device& device : events_.devices) {
    SONDE_TRY(insert("rocpd_info_agent", columns,
                     fmt::format("{0}, {1}, {2}, 'GPU', {0}, {0}, {3}, {4}, {5}, {4}",
                                 agent_of_gpu(device.gpu_id), kNode, any_pid(), device.gpu_id,
                                 sql_text(device.name), sql_text(device.vendor))));
  }
  return ok_status();
}

Status RocpdWriter::queues() {
  UniqueIds ids;
  for (const Queue& queue : events_.queues) {
    queue_ids_.push_back(ids.take(queue.queue_id));
    SONDE_TRY(insert("rocpd_info_queue", "id, nid, pid, name",
                     fmt::format("{}, {}, {}, 'Queue {}'", queue_ids_.back(), kNode,
                                 queue.pid == kNoPid ? any_pid() : queue.pid, queue.queue_id)));
  }
  return insert("rocpd_info_stream", "id, nid, pid, name",
                fmt::format("{}, {}, {}, 'Default Stream'", kDefaultStream, kNode, any_pid()));
}

Status RocpdWriter::kernel_symbols() {
  SONDE_TRY(insert("rocpd_info_code_object", "id, nid, pid",
                   fmt::format("{}, {}, {}", kCodeObject, kNode, any_pid())));
  for (const Op& op : events_.ops) {
    if (store::moves_memory(events_.class_of(op))) continue;
    const auto id = static_cast<int64_t>(kernel_ids_.size()) + 1;
    if (!kernel_ids_.try_emplace(op.name, id).second) continue;
    const std::string name = sql_text(events_.names.at(op.name));
    const KernelCode& code = events_.code_of(op);
    const auto known = [](int64_t count) {
      return count < 0 ? std::string("NULL") : std::to_string(count);
    };
    SONDE_TRY(
        insert("rocpd_info_kernel_symbol",
               "id, nid, pid, code_object_id, kernel_name, display_name, arch_vgpr_count, "
               "accum_vgpr_count, sgpr_count",
               fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}", id, kNode, any_pid(), kCodeObject,
                           name, name, known(code.vgprs), known(code.agprs), known(code.sgprs))));
  }
  return ok_status();
}

Result<int64_t> RocpdWriter::string(std::string_view text) {
  const auto id = static_cast<int64_t>(string_ids_.size()) + 1;
  const auto [at, added] = string_ids_.try_emplace(std::string(text), id);
  if (added) SONDE_TRY(add(strings_, id, text));
  return at->second;
}

Result<int64_t> RocpdWriter::event(std::string_view category, int64_t correlation,
                                   const std::string& extra) {
  SONDE_ASSIGN(const int64_t category_id, string(category));
  const int64_t id = ++next_event_;
  SONDE_TRY(add(event_rows_, id, category_id, correlation, correlation, int64_t{0},
                std::string_view(extra)));
  return id;
}

Status RocpdWriter::api(const Api& api) {
  ++counts_.apis;
  const bool mark = events_.is_mark(api);
  const bool instant = api.duration_ns() == 0;
  const std::string extra =
      mark ? fmt::format("{{\"message\":{}}}", json_quote(events_.title(api))) : "{}";
  SONDE_ASSIGN(const int64_t event_id,
               event(mark ? kMarkerDomain : domain_word(events_.domain(api)), api.id, extra));
  SONDE_TRY(arguments(event_id, events_.arguments(api)));
  const std::string_view name =
      mark ? (instant ? "roctxMarkA" : "roctxThreadRangeA") : events_.names.at(api.name);
  const int64_t pid = events_.threads[api.thread].pid;
  const int64_t tid = thread_ids_[api.thread];
  if (instant) {
    SONDE_ASSIGN(const int64_t track_id, track(pid, tid, name));
    return add(sample_rows_, track_id, api.start_ns, event_id);
  }
  SONDE_ASSIGN(const int64_t name_id, string(name));
  return add(region_rows_, api.id, kNode, pid, tid, api.start_ns, api.end_ns, name_id, event_id);
}

// "name = value | name = value"
Status RocpdWriter::arguments(int64_t event_id, std::string_view text) {
  int64_t position = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(" | "), text.size());
    const std::string_view argument = text.substr(0, end);
    text.remove_prefix(std::min(end + 3, text.size()));
    const size_t equals = argument.find(" = ");
    const bool named = equals != std::string_view::npos;
    const std::string_view name = named ? argument.substr(0, equals) : std::string_view("args");
    const std::string_view value = named ? argument.substr(equals + 3) : argument;
    SONDE_TRY(add(arg_rows_, event_id, position++, std::string_view(), name, value));
  }
  return ok_status();
}

Status RocpdWriter::op(const Op& op) {
  ++counts_.ops;
  const Queue& queue = events_.queues[op.queue];
  const Api* const call = events_.launcher(op);
  const bool copies = store::moves_memory(events_.class_of(op));
  SONDE_ASSIGN(const int64_t event_id, event(copies ? "MEMORY_COPY" : "KERNEL_DISPATCH",
                                             call == nullptr ? 0 : call->id, "{}"));
  const int64_t pid = queue.pid == kNoPid ? any_pid() : queue.pid;
  const int64_t tid = call == nullptr ? -1 : thread_ids_[call->thread];
  SONDE_TRY(op_counters(op, pid, event_id));
  return copies ? copy(op, pid, tid, event_id) : kernel(op, pid, tid, event_id);
}

// They are sorted by operation, and operations come in order.
Status RocpdWriter::op_counters(const Op& op, int64_t pid, int64_t event_id) {
  const auto index = static_cast<uint32_t>(&op - events_.ops.data());
  const auto& counters = events_.op_counters;
  for (; next_counter_ < counters.size() && counters[next_counter_].op == index; ++next_counter_) {
    const OpCounter& counter = counters[next_counter_];
    const auto [at, added] = pmc_ids_.try_emplace(counter.name, next_pmc_ + 1);
    if (added) {
      const std::string name = sql_text(events_.names.at(counter.name));
      SONDE_TRY(insert("rocpd_info_pmc", "id, nid, pid, agent_id, name, symbol, value_type",
                       fmt::format("{}, {}, {}, {}, {}, {}, 'ABS'", ++next_pmc_, kNode, pid,
                                   agent_of_gpu(events_.queues[op.queue].gpu_id), name, name)));
    }
    ++counts_.counters;
    SONDE_TRY(add(pmc_rows_, event_id, at->second, counter.value));
  }
  return ok_status();
}

Status RocpdWriter::kernel(const Op& op, int64_t pid, int64_t tid, int64_t event_id) {
  const Shape shape = op.shape == kNone ? Shape() : events_.shapes[op.shape];
  int64_t group[3], items[3];  // 0 = not known: the columns may not be NULL
  for (int i = 0; i < 3; ++i) {
    group[i] = std::max<int64_t>(shape.group[i], 0);
    items[i] = std::max<int64_t>(work_items(shape, i), 0);
  }
  return add(kernel_rows_, kNode, pid, Nullable{tid}, agent_of_gpu(events_.queues[op.queue].gpu_id),
             kernel_ids_[op.name], ++next_dispatch_, queue_ids_[op.queue], kDefaultStream,
             op.start_ns, op.end_ns, Nullable{shape.private_segment_bytes},
             Nullable{shape.group_segment_bytes}, group[0], group[1], group[2], items[0], items[1],
             items[2], event_id);
}

Status RocpdWriter::copy(const Op& op, int64_t pid, int64_t tid, int64_t event_id) {
  const CopyDirection direction = copy_direction(events_.names.at(op.type));
  const int64_t gpu = agent_of_gpu(events_.queues[op.queue].gpu_id);
  SONDE_ASSIGN(const int64_t name_id, string(direction.word));
  const std::string_view extra = op.bytes < 0 ? R"({"size":null})" : "{}";
  return add(copy_rows_, kNode, pid, Nullable{tid}, op.start_ns, op.end_ns, name_id,
             direction.to_host ? kHostAgent : gpu, direction.from_host ? kHostAgent : gpu,
             std::max<int64_t>(op.bytes, 0), queue_ids_[op.queue], kDefaultStream, event_id, extra);
}

// One for each name of each thread, or of the process (tid -1).
Result<int64_t> RocpdWriter::track(int64_t pid, int64_t tid, std::string_view name) {
  SONDE_ASSIGN(const int64_t name_id, string(name));
  const auto id = static_cast<int64_t>(track_ids_.size()) + 1;
  const auto [at, added] = track_ids_.try_emplace({pid, tid, name_id}, id);
  if (!added) return at->second;
  SONDE_TRY(insert("rocpd_track", "id, nid, pid, tid, name_id",
                   fmt::format("{}, {}, {}, {}, {}", id, kNode, pid == kNoPid ? any_pid() : pid,
                               tid < 0 ? std::string("NULL") : std::to_string(tid), name_id)));
  return id;
}

Status RocpdWriter::samples() {
  uint32_t last = kNone;
  int64_t track_id = 0;
  for (const Sample& sample : events_.samples) {
    if (sample.series != last) {  // they are sorted by series
      last = sample.series;
      const Series& series = events_.series[sample.series];
      SONDE_ASSIGN(track_id, track(series.pid, -1, series.name));
      const std::string name = sql_text(series.name);
      SONDE_TRY(insert("rocpd_info_pmc", "id, nid, pid, name, symbol, value_type",
                       fmt::format("{}, {}, {}, {}, {}, 'ABS'", ++next_pmc_, kNode,
                                   series.of_machine() ? any_pid() : series.pid, name, name)));
    }
    ++counts_.counters;
    SONDE_ASSIGN(const int64_t event_id, event("COUNTER", 0, "{}"));
    SONDE_TRY(add(sample_rows_, track_id, sample.time_ns, event_id));
    SONDE_TRY(add(pmc_rows_, event_id, next_pmc_, sample.value));
  }
  return ok_status();
}

Result<Counts> fill(const Events& events, store::Database& database) {
  SONDE_ASSIGN(std::string guid, new_guid());
  SONDE_ASSIGN(store::Transaction transaction, store::Transaction::begin(database));
  SONDE_ASSIGN(const Counts counts, RocpdWriter(events, database, std::move(guid)).write());
  SONDE_TRY(transaction.commit());
  return counts;
}

Result<Counts> write_rocpd(store::Reader& reader, const std::string& path, const Options& options) {
  SONDE_ASSIGN(const Events events, load_events(reader, options, OfOps::kAll));
  SONDE_ASSIGN(store::Database database,
               store::Database::open(path, store::Database::Mode::kCreate));
  Result<Counts> counts = fill(events, database);
  if (!counts) ::unlink(path.c_str());  // a half export must not look like a whole one
  return counts;
}

}  // namespace

Exporter rocpd_exporter() {
  return {"rocpd", "the SQLite database of rocprofv3, schema 3", {".db", ".rocpd"}, write_rocpd};
}

}  // namespace sonde::exporting
