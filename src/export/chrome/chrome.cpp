// Chrome JSON (docs/exports.md): what chrome://tracing, Perfetto and the readers of PyTorch's
// traces open. Times are microseconds with three decimals after baseTimeNanoseconds, so no
// nanosecond is lost however long the machine has been up.
#include <set>

#include "base/strings.h"
#include "export/chrome/writer.h"
#include "export/events/silent_threads.h"
#include "export/events/titles.h"
#include "export/exporter.h"

namespace sonde::exporting {

namespace {

constexpr int64_t kGpuSortIndex = 5'000'000;  // below the processes, as PyTorch's traces do
// Microseconds with three decimals are exact in a double up to here.
constexpr int64_t kLargestExactNs = int64_t{1} << 53;
// ns since 1970 are beyond this since 2001; ns since a machine's start are not.
constexpr int64_t kSurelyRealtimeNs = 1'000'000'000'000'000'000;

// Facts of an imported file that the document has anyhow, and Sonde's own about the import.
bool is_written_anyhow(const std::string& key) {
  static const std::set<std::string> kOwn = {
      "schemaVersion",       "displayTimeUnit", "clock",         "baseTimeNanoseconds", "traceName",
      "realtimeNanoseconds", "traceEvents",     "imported from", "imported as"};
  return kOwn.count(key) > 0 || key.compare(0, 7, "events ") == 0;
}

}  // namespace

ChromeWriter::ChromeWriter(const Events& events, const TraceFacts& facts, bool one_rank, Sink& sink)
    : events_(events),
      facts_(facts),
      sink_(sink),
      numbers_(events),
      quoted_names_(events.names.size()) {
  // Times of an imported file stay as its own tools show them, if a double can hold them.
  const bool stay = imported() && events.first_ns < kLargestExactNs;
  origin_ns_ = stay ? 0 : events.first_ns;
  keep_correlations_ = one_rank && correlations_are_unambiguous();
}

Counts ChromeWriter::write(const std::string& source_path, const CallSamples& call_samples,
                           const Overlay& over, bool array) {
  array ? sink_.append("[\n") : header(source_path);
  trace_metadata();
  process_metadata();
  silent_threads();
  device_metadata();
  apis();
  ops();
  other_flows();
  samples();
  overlay(over);
  profiles(call_samples);
  sink_.append("\n]");
  if (!array) {
    stack_samples(call_samples);
    sink_.append("}");
  }
  counts_.samples = call_samples.samples.size();
  sink_.append("\n");
  counts_.skipped = events_.skipped;
  return counts_;
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
  const int64_t pid = numbers_.pid(process.pid);
  begin_metadata("process_name", pid, 0);
  member("\"name\":", process_title(process));
  if (pid != process.pid) member(",\"sonde pid\":", process.pid);
  if (!process.executable.empty()) member(",\"sonde executable\":", process.executable);
  if (!process.command.empty()) member(",\"sonde command\":", process.command);
  if (process.rank >= 0) member(",\"sonde rank\":", process.rank);
  sink_.append("}}");
}

void ChromeWriter::process_metadata() {
  int64_t index = 0;
  for (const Process& process : events_.processes) {
    process_name(process);
    const int64_t pid = numbers_.pid(process.pid);
    if (!process.command.empty()) metadata("process_labels", pid, 0, process.command);
    sort_index("process_sort_index", pid, 0, ++index);
  }
  for (const Series& series : events_.series) {
    if (!series.of_machine()) continue;
    counters_pid_ = numbers_.free_pid();
    begin_metadata("process_name", counters_pid_, 0);
    sink_.append("\"name\":\"Monitors\",\"sonde monitors\":1}}");
    sort_index("process_sort_index", counters_pid_, 0, kGpuSortIndex - 1);
    return;
  }
}

// Threads without calls get their names here, the others where their slices are.
void ChromeWriter::silent_threads() {
  for (const Thread& thread : exporting::silent_threads(events_)) {
    thread_name(thread, numbers_.tid(thread.pid, thread.tid), 0);
  }
}

// The place of an event that is not a slice. A thread that only such events name is described here,
// if its number in the file is another.
ChromeWriter::Place ChromeWriter::place_of(int64_t pid, int64_t tid) {
  const int64_t shown = numbers_.tid(pid, tid);
  if (shown != tid && named_.count({pid, tid}) == 0) thread_name({pid, tid, {}}, shown, 0);
  return {numbers_.pid(pid), shown};
}

void ChromeWriter::thread_name(const Thread& thread, int64_t tid, uint32_t lane) {
  named_.insert({thread.pid, thread.tid});
  const int64_t pid = numbers_.pid(thread.pid);
  begin_metadata("thread_name", pid, tid);
  member("\"name\":", thread_title(thread, lane));
  if (pid != thread.pid) member(",\"sonde pid\":", thread.pid);
  if (tid != thread.tid) member(",\"sonde tid\":", thread.tid);
  if (!thread.name.empty()) member(",\"sonde name\":", thread.name);
  sink_.append("}}");
  sort_index("thread_sort_index", pid, tid, thread.tid);
}

void ChromeWriter::device_metadata() {
  for (size_t i = 0; i < events_.devices.size(); ++i) {
    device_pids_.push_back(numbers_.free_pid());
    metadata("process_name", device_pids_[i], 0, device_title(events_.devices[i]));
    sort_index("process_sort_index", device_pids_[i], 0, kGpuSortIndex + static_cast<int64_t>(i));
  }
}

void ChromeWriter::samples() {
  for (const Sample& sample : events_.samples) {
    const Series& series = events_.series[sample.series];
    ++counts_.counters;
    Place place{counters_pid_, 0};
    if (!series.of_machine()) place = place_of(series.pid, sample.tid);
    begin_event();
    member("\"ph\":\"C\",\"name\":", series.name);
    member(",\"pid\":", place.pid);
    if (sample.tid != 0) member(",\"tid\":", place.tid);
    sink_.append(",\"ts\":");
    time(sample.time_ns);
    sink_.append(",\"args\":{\"value\":");
    append_real(sink_, sample.value);
    sink_.append("}}");
  }
}

void ChromeWriter::other_flows() {
  std::map<std::string, int64_t, std::less<>> numbers;  // of ids that are not numbers
  for (const FlowEnd& end : facts_.flows) {
    const Place place = place_of(end.pid, end.tid);
    std::optional<int64_t> id = parse_int(end.id);
    const bool is_number = id && *id >= 0 && *id < kFirstArrow;
    if (!is_number) {
      id = kFirstArrow + static_cast<int64_t>(events_.links.size() + numbers.size());
      id = numbers.try_emplace(end.id, *id).first->second;
    }
    begin_event();
    sink_.append("\"ph\":");
    text(std::string_view(&end.phase, 1));
    member(",\"id\":", *id);
    member(",\"cat\":", events_.names.at(end.category));
    member(",\"name\":", events_.names.at(end.name));
    at(place, end.time_ns);
    if (!is_number) member(",\"args\":{\"sonde id\":", end.id);
    if (!is_number) sink_.append("}");
    sink_.append(end.phase == 'f' ? ",\"bp\":\"e\"}" : "}");
  }
}

namespace {

Result<Counts> write_chrome(store::Reader& reader, const std::string& path,
                            const Options& options) {
  SONDE_ASSIGN(const CallSamples samples, load_call_samples(reader, options));
  SONDE_ASSIGN(const Events events, load_events(reader, options, OfOps::kAll, &samples));
  SONDE_ASSIGN(const TraceFacts facts, load_facts(reader, options, events));
  const auto encoding = path.ends_with(".gz") ? Sink::Encoding::kGzip : Sink::Encoding::kPlain;
  SONDE_ASSIGN(Sink sink, Sink::create(path, encoding));
  // The files of several ranks use the same numbers for different calls.
  const bool one_rank = events.imports == 1 || (events.imports > 1 && options.rank);
  const Counts counts = ChromeWriter(events, facts, one_rank, sink)
                            .write(reader.path(), samples, options.overlay, options.array);
  SONDE_TRY(sink.finish());
  return counts;
}

}  // namespace

Exporter chrome_exporter() {
  return {"chrome",
          "Chrome JSON for chrome://tracing, Perfetto and readers of "
          "PyTorch traces; gzip when the name ends in .gz",
          {".json", ".json.gz"},
          write_chrome};
}

}  // namespace sonde::exporting
