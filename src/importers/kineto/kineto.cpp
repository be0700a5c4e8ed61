// PyTorch's traces (Kineto, in JSON), and every other trace in Chrome's JSON format.

#include "importers/importer.h"
#include "importers/input/json_windows.h"
#include "importers/kineto/batches.h"
#include "importers/kineto/frame.h"
#include "importers/kineto/reader.h"
#include "importers/kineto/sonde.h"

namespace sonde::importers {

namespace {

Sure sniff(const Head& head) {
  const std::string_view bytes = head.bytes;
  const size_t begin = bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin == bytes.npos) return Sure::kNo;
  const bool has_events = head.has("\"traceEvents\""), has_phase = head.has("\"ph\"");
  if (bytes[begin] == '[') {
    const size_t next = bytes.find_first_not_of(" \t\r\n", begin + 1);
    const bool is_empty = next != bytes.npos && bytes[next] == ']';
    return has_phase || is_empty ? Sure::kLikely : Sure::kNo;
  }
  if (bytes[begin] != '{') return Sure::kNo;
  // The first event of rocprof v1 is empty; it has an importer of its own.
  if (head.has("\"traceEvents\":[{}")) return Sure::kLikely;
  if (has_events && has_phase) return Sure::kCertain;
  if (has_events || head.has("\"deviceProperties\"")) return Sure::kLikely;
  const std::string_view path = head.path;
  // The events may come after pages of the user's own facts.
  return path.find(".json") != path.npos ? Sure::kPossible : Sure::kNo;
}

void take_problems_of_file(const JsonWindows& windows, const Frame& frame, const Source& source,
                           Tally& tally) {
  const std::string place = source.path() + ", byte " + std::to_string(windows.offset());
  if (windows.gave_up()) {
    tally.repair("place where the JSON is broken: what comes after it is missing", place);
  }
  if (windows.cut_event_bytes() > 0) {
    tally.skip("events cut off by the end of the file", place);
  } else if (!windows.complete() && !windows.gave_up() && !frame.broken) {
    tally.repair("end that is missing: the file is cut off", place);
  }
}

Status read(Source& source, Sink& sink, Tally& tally) {
  JsonWindows windows(source);
  KinetoReader reader(sink, tally, source.path());
  SONDE_TRY(each_batch(source, windows, sink.wants(), [&](const EventBatch& batch) {
    reader.take(batch);
    return sink.status();
  }));
  Frame frame = parse_frame(windows.frame());
  if (!windows.complete()) frame.broken = false;  // the missing end is reported already
  take_problems_of_file(windows, frame, source, tally);
  reader.finish(std::move(frame));
  return ok_status();
}

// The base may stand at the end of the file, so all of it is looked at, but not parsed.
Result<Clock> clock(Source& source) {
  JsonWindows windows(source);
  int64_t first_ns = 0;
  SondeTrace sonde;
  for (;;) {
    SONDE_ASSIGN(JsonWindow window, windows.next());
    if (window.size == 0) break;
    if (first_ns != 0) continue;
    const EventBatch batch = EventParser({}).parse(std::move(window));
    for (const Event& event : batch.events) {
      if (event.phase == 'M') sonde.take_metadata(event);
      if (event.has_ts && event.phase == 'X' && first_ns == 0) first_ns = event.ts;
    }
  }
  const Frame frame = parse_frame(windows.frame());
  int64_t at_0_ns = 0;
  if (frame.base_ns && !__builtin_sub_overflow(*frame.base_ns, sonde.origin_ns(), &at_0_ns)) {
    return Clock{"realtime", at_0_ns};
  }
  if (first_ns > kSurelyRealtimeNs) return Clock{"realtime", 0};
  return Clock{};
}

}  // namespace

Importer kineto_importer() {
  return {"kineto", "PyTorch profiler (Kineto) JSON, and any trace in Chrome's format", sniff, read,
          clock};
}

}  // namespace sonde::importers
