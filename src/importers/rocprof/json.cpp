// results.json of rocprof v1 (docs/formats.md): Chrome JSON whose times are in the arguments, in
// nanoseconds and as texts. Its processes are kinds of records.
#include <map>

#include "importers/importer.h"
#include "importers/input/json_windows.h"
#include "importers/kineto/args.h"
#include "importers/kineto/batches.h"
#include "importers/kineto/frame.h"
#include "importers/rocprof/rows.h"

namespace sonde::importers {

namespace {

// The pids of its processes; those of GPU n and of its barriers follow.
constexpr int64_t kMarkers = 0, kCopies = 1, kHip = 2, kHsa = 3, kOperations = 5;

Sure sniff(const Head& head) {
  const bool first_is_empty = head.has("\"traceEvents\":[{}");
  const bool has_times = head.has("\"BeginNs\"") || head.has("\"KernelName\"");
  return first_is_empty && has_times ? Sure::kCertain : Sure::kNo;
}

class Reader {
 public:
  Reader(Sink& sink, Tally& tally, std::string path)
      : path_(std::move(path)), rows_(sink, tally), tally_(tally) {}

  void take(const EventBatch& batch) {
    tally_.skip("events that are not valid JSON", path_, batch.problems.broken.count);
    for (const Event& event : batch.events) {
      if (event.phase == 'X') record(event);
      if (event.phase == 's' || event.phase == 't') flow(event);
    }
  }
  void finish() {
    link();
    rows_.finish();
  }

 private:
  // Where a slice begins in the viewer: process, thread, and microseconds.
  using Place = std::pair<std::pair<int64_t, int64_t>, int64_t>;
  struct Span {
    int64_t id, end_us;
  };

  void record(const Event& event);
  void flow(const Event& event);
  void link();

  const std::string path_;
  RocprofRows rows_;
  Tally& tally_;
  RocprofRecord record_;
  std::multimap<Place, Span> calls_;
  std::multimap<Place, int64_t> ops_;
  std::map<std::string, std::pair<Place, Place>> flows_;
};

void Reader::record(const Event& event) {
  record_.clear();
  each_argument(event.args,
                [&](std::string_view key, std::string_view value) { record_.add(key, value); });
  const std::pair<int64_t, int64_t> lane{event.pid, event.tid};
  const int64_t begin_us = record_.integer_or("BeginNs", 0) / 1000;
  if (event.pid == kMarkers) {
    rows_.marker(record_, path_);
  } else if (event.pid == kHip || event.pid == kHsa) {
    const int64_t id = rows_.call(record_, event.pid == kHip ? "hip" : "hsa", path_);
    const Span span{id, record_.integer_or("EndNs", 0) / 1000};
    if (id != 0) calls_.emplace(Place{lane, begin_us}, span);
  } else if (!record_.text("KernelName").empty()) {
    rows_.kernel(record_, path_);
  } else if (event.pid == kCopies || event.pid >= kOperations) {
    const int64_t id = rows_.operation(record_, path_);
    if (id != 0) ops_.emplace(Place{lane, begin_us}, id);
  } else {
    tally_.skip("events of a process that rocprof does not have", path_);
  }
}

void Reader::flow(const Event& event) {
  const Place place{{event.pid, event.tid}, event.ts / 1000};
  auto& [from, to] = flows_[std::string(event.id)];
  (event.phase == 's' ? from : to) = place;
}

// An arrow begins within the call and ends where the operation begins.
void Reader::link() {
  for (const auto& [id, flow] : flows_) {
    const auto& [from, to] = flow;
    auto call = calls_.upper_bound(from);
    const auto op = ops_.find(to);
    while (call != calls_.begin()) {
      --call;
      if (call->first.first != from.first) break;
      if (call->second.end_us < from.second) continue;
      if (op != ops_.end()) {
        rows_.launched(op->second, call->second.id);
        ops_.erase(op);  // the next arrow to this microsecond is for another one
      }
      break;
    }
  }
}

Status read(Source& source, Sink& sink, Tally& tally) {
  JsonWindows windows(source);
  Reader reader(sink, tally, source.path());
  SONDE_TRY(each_batch(source, windows, Wants{}, [&](const EventBatch& batch) {
    reader.take(batch);
    return sink.status();
  }));
  if (windows.cut_event_bytes() > 0) {
    tally.skip("events cut off by the end of the file", source.path());
  } else if (!windows.complete()) {
    tally.repair("end that is missing: the file is cut off or broken there", source.path());
  }
  for (const auto& [key, value] : parse_frame(windows.frame()).notes) sink.note(0, key, value);
  reader.finish();
  return sink.status();
}

}  // namespace

Importer rocprof_json_importer() {
  return {"rocprof-json", "results.json of rocprof v1", sniff, read};
}

}  // namespace sonde::importers
