// Chrome JSON (docs/exports.md): what chrome://tracing, Perfetto and the readers of PyTorch's
// traces open. Times are microseconds with three decimals after baseTimeNanoseconds, so no
// nanosecond is lost however long the machine has been up.
#include <algorithm>
#include <set>

#include "base/strings.h"
#include "export/chrome_samples.h"
#include "export/chrome_writer.h"
#include "export/exporter.h"
#include "export/titles.h"

namespace sonde::exporting {

namespace {

// Process numbers that are no real process. Linux gives out at most 2^22 and tools that merge nodes
// multiply by ten millions; where a file goes beyond, so do we.
constexpr int64_t kFirstGpuPid = 1'000'000'000;
constexpr int64_t kFirstLaneTid = 1'000'000'000;
constexpr int64_t kGpuSortIndex = 5'000'000;  // below the processes, as PyTorch's traces do
// Microseconds with three decimals are exact in a double up to here.
constexpr int64_t kLargestExactNs = int64_t{1} << 53;
// ns since 1970 are beyond this since 2001; ns since a machine's start are not.
constexpr int64_t kSurelyRealtimeNs = 1'000'000'000'000'000'000;

// A number above that of a real process or thread. Beyond any that a system gives out, only a
// damaged file can hold one.
int64_t above(int64_t number) {
  constexpr int64_t kNonsense = int64_t{1} << 60;
  return number < kNonsense ? number + 1 : 0;
}

// Facts of an imported file that the document has anyhow, and Sonde's own about the import.
bool is_written_anyhow(const std::string& key) {
  static const std::set<std::string> kOwn = {
      "schemaVersion", "displayTimeUnit",     "clock",       "baseTimeNanoseconds",
      "traceName",     "realtimeNanoseconds", "traceEvents", "imported from"};
  return kOwn.count(key) > 0 || key.compare(0, 7, "events ") == 0;
}

}  // namespace

ChromeWriter::ChromeWriter(const Events& events, const TraceFacts& facts, bool keep_correlations,
                           Sink& sink)
    : events_(events),
      facts_(facts),
      keep_correlations_(keep_correlations),
      sink_(sink),
      quoted_names_(events.names.size()) {
  // Times of an imported file stay as its own tools show them, if a double can hold them.
  const bool stay = imported() && events.first_ns < kLargestExactNs;
  origin_ns_ = stay ? 0 : events.first_ns;
}

Counts ChromeWriter::write(const std::string& source_path, const CallSamples& call_samples,
                           const Overlay& over) {
  number_processes();
  header(source_path);
  trace_metadata();
  process_metadata();
  device_metadata();
  apis();
  ops();
  other_flows();
  samples();
  overlay(over);
  sink_.append("\n]");
  write_chrome_samples(sink_, call_samples, origin_ns_);
  counts_.samples = call_samples.samples.size();
  sink_.append("}\n");
  counts_.skipped = events_.skipped;
  return counts_;
}

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
  sink_.append("{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\"");
  base_time();
  member(",\"traceName\":", source_path);
  notes();
  sink_.append(",\"traceEvents\":[\n");
}

// The time of day at ts 0, or for a recording its own clock, and the time of day beside it.
void ChromeWriter::base_time() {
  const char* const base = ",\"baseTimeNanoseconds\":";
  int64_t realtime_ns = 0;
  const bool known = facts_.realtime_at_0_ns &&
                     !__builtin_add_overflow(*facts_.realtime_at_0_ns, origin_ns_, &realtime_ns);
  if (imported()) {
    if (known) return member(base, realtime_ns);
    if (origin_ns_ > kSurelyRealtimeNs) member(base, origin_ns_);
    return;
  }
  member(base, origin_ns_);
  sink_.append(",\"clock\":\"CLOCK_MONOTONIC\"");
  if (known) member(",\"realtimeNanoseconds\":", realtime_ns);
}

// What the head of a PyTorch trace said. Of several files each said something else.
void ChromeWriter::notes() {
  std::set<std::string> written;
  if (events_.imports == 1) {
    for (const auto& [key, value] : facts_.notes) {
      if (is_written_anyhow(key)) continue;
      written.insert(key);
      sink_.append(",");
      text(key);
      sink_.append(":");
      is_json(value) ? sink_.append(value) : text(value);
    }
  }
  if (written.count("deviceProperties") == 0) device_properties();
  std::set<int64_t> ranks;
  for (const Process& process : events_.processes) {
    if (process.rank >= 0) ranks.insert(process.rank);
  }
  if (ranks.size() == 1 && written.count("distributedInfo") == 0) {
    member(",\"distributedInfo\":{\"rank\":", *ranks.begin());
    sink_.append("}");
  }
}

void ChromeWriter::device_properties() {
  sink_.append(",\"deviceProperties\":[");
  for (size_t i = 0; i < events_.devices.size(); ++i) {
    const Device& device = events_.devices[i];
    member(i == 0 ? "{\"id\":" : ",{\"id\":", device.gpu_id);
    member(",\"name\":", device.name);
    if (device.memory_bytes >= 0) member(",\"totalGlobalMem\":", device.memory_bytes);
    if (device.compute_units >= 0) member(",\"numSms\":", device.compute_units);
    sink_.append("}");
  }
  sink_.append("]");
}

void ChromeWriter::begin_metadata(std::string_view kind, int64_t pid, int64_t tid) {
  begin_event();
  sink_.append("\"ph\":\"M\",\"name\":\"");
  sink_.append(kind);
  member("\",\"pid\":", pid);
  member(",\"tid\":", tid);
  sink_.append(",\"ts\":0.000,\"args\":{");
}

// The first event: how an importer gets the times of the .rpd back, and whether a row without a
// category of its own had none.
void ChromeWriter::trace_metadata() {
  begin_metadata("sonde_trace", 0, 0);
  member("\"origin_ns\":", origin_ns_);
  member(",\"recorded\":", imported() ? 0 : 1);
  sink_.append("}}");
}

void ChromeWriter::metadata(std::string_view kind, int64_t pid, int64_t tid,
                            std::string_view value) {
  begin_metadata(kind, pid, tid);
  member(kind == "process_labels" ? "\"labels\":" : "\"name\":", value);
  sink_.append("}}");
}

void ChromeWriter::sort_index(std::string_view kind, int64_t pid, int64_t tid, int64_t index) {
  begin_metadata(kind, pid, tid);
  member("\"sort_index\":", index);
  sink_.append("}}");
}

void ChromeWriter::process_name(const Process& process) {
  const auto known = facts_.executables.find(process.pid);
  const std::string executable = known == facts_.executables.end() ? "" : known->second;
  begin_metadata("process_name", process.pid, 0);
  member("\"name\":",
         process.command.empty() && !executable.empty() ? executable : process_title(process));
  if (!executable.empty()) member(",\"sonde executable\":", executable);
  if (!process.command.empty()) member(",\"sonde command\":", process.command);
  if (process.rank >= 0) member(",\"sonde rank\":", process.rank);
  sink_.append("}}");
}

void ChromeWriter::process_metadata() {
  int64_t index = 0;
  for (const Process& process : events_.processes) {
    process_name(process);
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

void ChromeWriter::thread_name(const Thread& thread, int64_t tid, uint32_t lane) {
  begin_metadata("thread_name", thread.pid, tid);
  member("\"name\":", thread_title(thread, lane));
  if (tid != thread.tid) member(",\"sonde tid\":", thread.tid);
  if (!thread.name.empty()) member(",\"sonde name\":", thread.name);
  sink_.append("}}");
  sort_index("thread_sort_index", thread.pid, tid, thread.tid);
}

void ChromeWriter::device_metadata() {
  for (size_t i = 0; i < events_.devices.size(); ++i) {
    metadata("process_name", device_pids_[i], 0, device_title(events_.devices[i]));
    sort_index("process_sort_index", device_pids_[i], 0, kGpuSortIndex + static_cast<int64_t>(i));
  }
}

void ChromeWriter::samples() {
  for (const Sample& sample : events_.samples) {
    const Series& series = events_.series[sample.series];
    ++counts_.counters;
    begin_event();
    member("\"ph\":\"C\",\"name\":", series.name);
    member(",\"pid\":", series.pid >= 0 ? series.pid : counters_pid_);
    if (sample.tid != 0) member(",\"tid\":", sample.tid);
    sink_.append(",\"ts\":");
    time(sample.time_ns);
    sink_.append(",\"args\":{\"value\":");
    append_real(sink_, sample.value);
    sink_.append(series.pid >= 0 ? "}}" : ",\"sonde monitor\":1}}");
  }
}

void ChromeWriter::other_flows() {
  for (const FlowEnd& end : facts_.flows) {
    begin_event();
    sink_.append("\"ph\":");
    text(std::string_view(&end.phase, 1));
    sink_.append(",\"id\":");
    parse_int(end.id) ? sink_.append(end.id) : text(end.id);
    member(",\"cat\":", events_.names.at(end.category));
    member(",\"name\":", events_.names.at(end.name));
    member(",\"pid\":", end.pid);
    member(",\"tid\":", end.tid);
    sink_.append(",\"ts\":");
    time(end.time_ns);
    sink_.append(end.phase == 'f' ? ",\"bp\":\"e\"}" : "}");
  }
}

namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The numbers by which files link calls and operations are those of a process.
bool one_process_launches(const Events& events) {
  std::optional<int64_t> pid;
  for (const Link& link : events.links) {
    const int64_t launcher = events.threads[events.apis[link.api].thread].pid;
    if (pid && *pid != launcher) return false;
    pid = launcher;
  }
  return true;
}

Result<Counts> write_chrome(store::Reader& reader, const std::string& path,
                            const Options& options) {
  SONDE_ASSIGN(const Events events, load_events(reader, options, true));
  SONDE_ASSIGN(const TraceFacts facts, load_facts(reader, options, events));
  const auto encoding = ends_with(path, ".gz") ? Sink::Encoding::kGzip : Sink::Encoding::kPlain;
  SONDE_ASSIGN(Sink sink, Sink::create(path, encoding));
  // The files of several ranks use the same numbers for different calls.
  const bool one_numbering =
      (events.imports == 1 || (events.imports > 1 && options.rank)) && one_process_launches(events);
  SONDE_ASSIGN(const CallSamples samples, load_call_samples(reader, options));
  const Counts counts = ChromeWriter(events, facts, one_numbering, sink)
                            .write(reader.path(), samples, options.overlay);
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
