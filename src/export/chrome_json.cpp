// Chrome JSON (docs/exports.md): what chrome://tracing, Perfetto and the readers of PyTorch's
// traces open. Times are microseconds with three decimals after baseTimeNanoseconds, so no
// nanosecond is lost however long the machine has been up.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/strings.h"
#include "export/events.h"
#include "export/exporter.h"
#include "export/json_text.h"
#include "export/lanes.h"
#include "export/sink.h"
#include "export/titles.h"

namespace sonde::exporting {

namespace {

// Process numbers that are no real process. Linux gives out at most 2^22 and tools that merge nodes
// multiply by ten millions; where a file goes beyond, so do we.
constexpr int64_t kFirstGpuPid = 1'000'000'000;
constexpr int64_t kFirstLaneTid = 1'000'000'000;
constexpr int64_t kGpuSortIndex = 5'000'000;  // below the processes, as PyTorch's traces do

// A number above that of a real process or thread. Beyond any that a system gives out, only a
// damaged file can hold one.
int64_t above(int64_t number) {
  constexpr int64_t kNonsense = int64_t{1} << 60;
  return number < kNonsense ? number + 1 : 0;
}

std::string_view op_category(OpClass op_class) {
  switch (op_class) {
    case OpClass::kKernel:
      return "kernel";
    case OpClass::kCopy:
      return "gpu_memcpy";
    case OpClass::kFill:
      return "gpu_memset";
    case OpClass::kOther:
    case OpClass::kUnknown:
      break;
  }
  return "gpu_op";
}

std::string axes_text(const char* key, const int64_t (&axes)[3]) {
  if (axes[0] < 0) return {};
  return fmt::format(",\"{}\":[{},{},{}]", key, axes[0], axes[1], axes[2]);
}

std::string number_text(const char* key, int64_t value) {
  return value < 0 ? std::string() : fmt::format(",\"{}\":{}", key, value);
}

// What stands between the process and the time of an event.
std::string place_text(int64_t pid, int64_t tid) {
  return fmt::format(",\"pid\":{},\"tid\":{},\"ts\":", pid, tid);
}

std::string shape_text(const Shape& shape) {
  return axes_text("grid", shape.grid) + axes_text("block", shape.group) +
         axes_text("work items", shape.items) +
         number_text("shared memory", shape.group_segment_bytes) +
         number_text("private memory", shape.private_segment_bytes);
}

class ChromeWriter {
 public:
  ChromeWriter(const Events& events, Sink& sink)
      : events_(events), sink_(sink), quoted_names_(events.names.size()) {}

  Counts write(const std::string& source_path) {
    number_processes();
    header(source_path);
    process_metadata();
    device_metadata();
    apis();
    ops();
    samples();
    sink_.append("\n]}\n");
    counts_.skipped = events_.skipped;
    return counts_;
  }

 private:
  void number_processes();
  void header(const std::string& source_path);
  void metadata(std::string_view kind, int64_t pid, int64_t tid, std::string_view text);
  void sort_index(std::string_view kind, int64_t pid, int64_t tid, int64_t index);
  void process_metadata();
  void device_metadata();
  void apis();
  void api_lane(const Lane& lane, const Layout& layout);
  void api(const Api& api, size_t index, const std::string& place);
  void ops();
  void op_lane(const Lane& lane, const Layout& layout);
  void op(const Op& op, const std::string& place);
  void op_arguments(const Op& op);
  void flow(std::string_view phase, size_t link, const std::string& place, int64_t time_ns);
  void samples();

  // The text between two events; none before the first.
  void begin_event() {
    sink_.append(first_ ? std::string_view("{") : std::string_view(",\n{"));
    first_ = false;
  }
  void text(std::string_view value) { append_json_string(sink_, value, scratch_); }
  void time(int64_t time_ns) { append_thousandths(sink_, time_ns - events_.first_ns); }
  const std::string& quoted_name(uint32_t name);
  std::string_view api_category(const Api& api) const;

  // A flow needs a slice at both ends; one of no length cannot hold its arrow.
  bool has_arrow(const Link& link) const {
    return events_.apis[link.api].duration_ns() > 0 && events_.ops[link.op].duration_ns() > 0;
  }

  const Events& events_;
  Sink& sink_;
  std::vector<std::string> quoted_names_;
  std::vector<int64_t> device_pids_;
  int64_t counters_pid_ = 0;
  std::map<int64_t, int64_t> next_lane_tid_;  // by pid
  std::vector<std::string> shapes_;
  std::string scratch_;
  bool first_ = true;
  Counts counts_;
};

void ChromeWriter::number_processes() {
  int64_t next = kFirstGpuPid;
  for (const Process& process : events_.processes) next = std::max(next, above(process.pid));
  for (const Thread& thread : events_.threads) {
    int64_t& tid = next_lane_tid_.try_emplace(thread.pid, kFirstLaneTid).first->second;
    tid = std::max(tid, above(thread.tid));
  }
  for (size_t i = 0; i < events_.devices.size(); ++i) device_pids_.push_back(next++);
  counters_pid_ = next;
}

const std::string& ChromeWriter::quoted_name(uint32_t name) {
  std::string& quoted = quoted_names_[name];
  if (quoted.empty()) quoted = json_quote(events_.names.at(name));
  return quoted;
}

void ChromeWriter::header(const std::string& source_path) {
  sink_.append("{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":");
  append_integer(sink_, events_.first_ns);
  sink_.append(",\"clock\":\"CLOCK_MONOTONIC\",\"traceName\":");
  text(source_path);
  sink_.append(",\"deviceProperties\":[");
  for (size_t i = 0; i < events_.devices.size(); ++i) {
    const Device& device = events_.devices[i];
    sink_.append(i == 0 ? "{\"id\":" : ",{\"id\":");
    append_integer(sink_, device.gpu_id);
    sink_.append(",\"name\":");
    text(device.name);
    sink_.append(number_text("totalGlobalMem", device.memory_bytes));
    sink_.append(number_text("numSms", device.compute_units));
    sink_.append("}");
  }
  sink_.append("]");
  if (events_.processes.size() == 1 && events_.processes[0].rank >= 0) {
    sink_.append(",\"distributedInfo\":{\"rank\":");
    append_integer(sink_, events_.processes[0].rank);
    sink_.append("}");
  }
  sink_.append(",\"traceEvents\":[\n");
}

void ChromeWriter::metadata(std::string_view kind, int64_t pid, int64_t tid,
                            std::string_view value) {
  begin_event();
  sink_.append("\"ph\":\"M\",\"name\":\"");
  sink_.append(kind);
  sink_.append("\",\"pid\":");
  append_integer(sink_, pid);
  sink_.append(",\"tid\":");
  append_integer(sink_, tid);
  sink_.append(",\"ts\":0.000,\"args\":{\"");
  sink_.append(kind == "process_labels" ? "labels" : "name");
  sink_.append("\":");
  text(value);
  sink_.append("}}");
}

void ChromeWriter::sort_index(std::string_view kind, int64_t pid, int64_t tid, int64_t index) {
  begin_event();
  sink_.append("\"ph\":\"M\",\"name\":\"");
  sink_.append(kind);
  sink_.append("\",\"pid\":");
  append_integer(sink_, pid);
  sink_.append(",\"tid\":");
  append_integer(sink_, tid);
  sink_.append(",\"ts\":0.000,\"args\":{\"sort_index\":");
  append_integer(sink_, index);
  sink_.append("}}");
}

void ChromeWriter::process_metadata() {
  int64_t index = 0;
  for (const Process& process : events_.processes) {
    metadata("process_name", process.pid, 0, process_title(process));
    if (!process.command.empty()) metadata("process_labels", process.pid, 0, process.command);
    sort_index("process_sort_index", process.pid, 0, ++index);
  }
  for (const Series& series : events_.series) {
    if (series.pid >= 0) continue;
    metadata("process_name", counters_pid_, 0, "Monitors");
    sort_index("process_sort_index", counters_pid_, 0, kGpuSortIndex - 1);
    return;
  }
}

void ChromeWriter::device_metadata() {
  for (size_t i = 0; i < events_.devices.size(); ++i) {
    metadata("process_name", device_pids_[i], 0, device_title(events_.devices[i]));
    sort_index("process_sort_index", device_pids_[i], 0, kGpuSortIndex + static_cast<int64_t>(i));
  }
}

// The cat that readers of PyTorch's traces know; they use it for HIP calls, too.
std::string_view ChromeWriter::api_category(const Api& api) const {
  if (events_.is_mark(api)) return "user_annotation";
  const std::string_view domain = events_.domain(api);
  return domain == "hip" || domain == "cuda" ? std::string_view("cuda_runtime") : domain;
}

void ChromeWriter::apis() {
  const auto thread_of = [](const Api& api) { return api.thread; };
  const Layout layout = lay_out(events_.apis, events_.api_count(), events_.threads.size(),
                                Nesting::kAllowed, thread_of);
  for (const Lane& lane : layout.lanes) api_lane(lane, layout);
}

void ChromeWriter::api_lane(const Lane& lane, const Layout& layout) {
  const Thread& thread = events_.threads[lane.track];
  const int64_t tid = lane.lane == 0 ? thread.tid : next_lane_tid_[thread.pid]++;
  metadata("thread_name", thread.pid, tid, thread_title(thread, lane.lane));
  sort_index("thread_sort_index", thread.pid, tid, thread.tid);
  const std::string place = place_text(thread.pid, tid);
  for (uint32_t i = lane.begin; i < lane.end; ++i) {
    const size_t index = layout.order[i];
    api(events_.apis[index], index, place);
  }
}

void ChromeWriter::api(const Api& api, size_t index, const std::string& place) {
  ++counts_.apis;
  begin_event();
  const bool instant = api.duration_ns() == 0;
  sink_.append(instant ? "\"ph\":\"i\",\"s\":\"t\",\"cat\":" : "\"ph\":\"X\",\"cat\":");
  text(api_category(api));
  sink_.append(",\"name\":");
  if (events_.is_mark(api)) {
    text(events_.title(api));
  } else {
    sink_.append(quoted_name(api.name));
  }
  sink_.append(place);
  time(api.start_ns);
  if (!instant) {
    sink_.append(",\"dur\":");
    append_thousandths(sink_, api.duration_ns());
  }
  const uint32_t links_end = events_.apis[index + 1].first_link;
  const std::string_view arguments = events_.arguments(api);
  sink_.append(",\"args\":{\"correlation\":");
  append_integer(sink_, api.id);
  if (!arguments.empty()) {
    sink_.append(",\"args\":");
    text(arguments);
  }
  sink_.append("}}");
  for (uint32_t link = api.first_link; link < links_end; ++link) {
    if (!has_arrow(events_.links[link])) continue;
    ++counts_.flows;
    flow("{\"ph\":\"s\",\"id\":", link, place, api.start_ns);
    sink_.append("}");
  }
}

void ChromeWriter::flow(std::string_view phase, size_t link, const std::string& place,
                        int64_t time_ns) {
  sink_.append(",\n");
  sink_.append(phase);
  append_integer(sink_, static_cast<int64_t>(link) + 1);
  sink_.append(",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
  sink_.append(place);
  time(time_ns);
}

void ChromeWriter::ops() {
  for (const Shape& shape : events_.shapes) shapes_.push_back(shape_text(shape));
  const auto queue_of = [](const Op& op) { return op.queue; };
  const Layout layout =
      lay_out(events_.ops, events_.ops.size(), events_.queues.size(), Nesting::kNever, queue_of);
  for (const Lane& lane : layout.lanes) op_lane(lane, layout);
}

void ChromeWriter::op_lane(const Lane& lane, const Layout& layout) {
  const Queue& queue = events_.queues[lane.track];
  const uint32_t device = events_.device_of(queue);
  const int64_t pid = device_pids_[device];
  const int64_t tid = ++next_lane_tid_[pid];
  metadata("thread_name", pid, tid, queue_title(events_, queue, lane.lane));
  sort_index("thread_sort_index", pid, tid, tid);
  const std::string place = place_text(pid, tid);
  for (uint32_t i = lane.begin; i < lane.end; ++i) op(events_.ops[layout.order[i]], place);
}

void ChromeWriter::op(const Op& op, const std::string& place) {
  ++counts_.ops;
  begin_event();
  sink_.append("\"ph\":\"X\",\"cat\":\"");
  sink_.append(op_category(events_.class_of(op)));
  sink_.append("\",\"name\":");
  sink_.append(quoted_name(op.name));
  sink_.append(place);
  time(op.start_ns);
  sink_.append(",\"dur\":");
  append_thousandths(sink_, op.duration_ns());
  op_arguments(op);
  for (uint32_t link = op.first_link; link != kNone; link = events_.links[link].next_of_op) {
    if (!has_arrow(events_.links[link])) continue;
    flow("{\"ph\":\"f\",\"bp\":\"e\",\"id\":", link, place, op.start_ns);
    sink_.append("}");
  }
}

void ChromeWriter::op_arguments(const Op& op) {
  const Queue& queue = events_.queues[op.queue];
  sink_.append(",\"args\":{\"device\":");
  append_integer(sink_, queue.gpu_id);
  sink_.append(",\"stream\":");
  append_integer(sink_, queue.queue_id);
  if (op.first_link != kNone) {
    sink_.append(",\"correlation\":");
    append_integer(sink_, events_.apis[events_.links[op.first_link].api].id);
  }
  if (op.name != op.type) {
    sink_.append(",\"kind\":");
    sink_.append(quoted_name(op.type));
  }
  if (op.shape != kNone) sink_.append(shapes_[op.shape]);
  if (op.bytes >= 0) {
    sink_.append(",\"bytes\":");
    append_integer(sink_, op.bytes);
    if (op.duration_ns() > 0) {  // bytes per ns are GB per s
      const __int128 thousandths = static_cast<__int128>(op.bytes) * 1000 / op.duration_ns();
      sink_.append(",\"memory bandwidth (GB/s)\":");
      append_thousandths(sink_, static_cast<int64_t>(std::min<__int128>(thousandths, INT64_MAX)));
    }
  }
  if (op.status != 0) {
    sink_.append(",\"status\":");
    append_integer(sink_, op.status);
  }
  sink_.append("}}");
}

void ChromeWriter::samples() {
  for (const Sample& sample : events_.samples) {
    const Series& series = events_.series[sample.series];
    ++counts_.counters;
    begin_event();
    sink_.append("\"ph\":\"C\",\"name\":");
    text(series.name);
    sink_.append(",\"pid\":");
    append_integer(sink_, series.pid >= 0 ? series.pid : counters_pid_);
    sink_.append(",\"ts\":");
    time(sample.time_ns);
    sink_.append(",\"args\":{\"value\":");
    append_real(sink_, sample.value);
    sink_.append("}}");
  }
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Result<Counts> write_chrome(store::Reader& reader, const std::string& path,
                            const Options& options) {
  SONDE_ASSIGN(const Events events, load_events(reader, options));
  const auto encoding = ends_with(path, ".gz") ? Sink::Encoding::kGzip : Sink::Encoding::kPlain;
  SONDE_ASSIGN(Sink sink, Sink::create(path, encoding));
  const Counts counts = ChromeWriter(events, sink).write(reader.path());
  SONDE_TRY(sink.finish());
  return counts;
}

}  // namespace

const Exporter& chrome_exporter() {
  static const Exporter kExporter{"chrome",
                                  "Chrome JSON for chrome://tracing, Perfetto and readers of "
                                  "PyTorch traces; gzip when the name ends in .gz",
                                  {".json", ".json.gz"},
                                  write_chrome};
  return kExporter;
}

}  // namespace sonde::exporting
