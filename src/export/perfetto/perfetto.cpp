// Perfetto protobuf (docs/exports.md): GPU operations as render stage events, which keep exact
// durations however they overlap; calls and markers as slices of their threads; counters as counter
// tracks. Times are CLOCK_MONOTONIC ns. Field numbers are those of Perfetto's public .proto files.
#include <algorithm>

#include "export/events/counter_unit.h"
#include "export/events/silent_threads.h"
#include "export/events/titles.h"
#include "export/exporter.h"
#include "export/perfetto/writer.h"

namespace sonde::exporting {

namespace {

// TracePacket
constexpr uint32_t kProcessTree = 2, kClockSnapshot = 6, kTimestampClock = 58, kDefaults = 59;
// TrackEvent
constexpr uint32_t kDoubleCounter = 44, kCorrelationId = 52, kGpuCorrelation = 3000, kGpuApi = 3001;
// DebugAnnotation
constexpr uint32_t kAnnotationJson = 9, kAnnotationTextIid = 17;
// TrackDescriptor
constexpr uint32_t kDescription = 14;
// BuiltinClock
constexpr uint64_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;

}  // namespace

void PerfettoWriter::first_packet() {
  const size_t packet = stream_.begin_first_packet();
  const size_t defaults = out_.begin(kDefaults);
  out_.varint(kTimestampClock, kMonotonic);
  if (!call_samples_.samples.empty()) write_sample_defaults(out_);
  out_.end(defaults);
  stream_.end_packet(packet);
  args_name_ = annotation_names_.iid("args");
  marker_name_ = annotation_names_.iid("marker");
  bytes_name_ = arg_names_.iid("bytes");
  status_name_ = arg_names_.iid("status");
}

// Says how CLOCK_MONOTONIC stands to the clocks that Perfetto may want to show. A file that does
// not know BOOTTIME says that they are equal, as they are on a machine that never slept.
void PerfettoWriter::clock_snapshot() {
  const uint64_t now_ns = static_cast<uint64_t>(std::max<int64_t>(events_.first_ns, 1));
  const auto clock = [&](uint64_t id, int64_t offset_ns) {
    const ProtoMessage entry(out_, 1);
    out_.varint(1, id);
    out_.varint(2, now_ns + static_cast<uint64_t>(offset_ns));
  };
  const Packet snapshot(stream_, kClockSnapshot);
  clock(kMonotonic, 0);
  clock(kBoottime, clocks_.boottime_ns);
  if (clocks_.realtime_ns > 0) clock(kRealtime, clocks_.realtime_ns);
  out_.varint(2, kMonotonic);  // primary_trace_clock
}

// Viewers take command lines from here alone, and the first word as the name of the process.
void PerfettoWriter::process_tree() {
  for (const Process& process : events_.processes) {
    if (process.command.empty()) continue;
    const Packet tree(stream_, kProcessTree);
    const ProtoMessage entry(out_, 1);
    out_.varint(1, static_cast<uint64_t>(numbers_.pid(process.pid)));
    const std::string title = process_title(process);
    out_.bytes(3, fit_text(title, scratch_));
    const size_t arguments = process.command.find(' ');
    if (arguments != process.command.npos) {
      out_.bytes(3, fit_text(std::string_view(process.command).substr(arguments + 1), scratch_));
    }
  }
}

// The number that a process or thread has in the file, where viewers want another one.
void PerfettoWriter::real_number(std::string_view word, int64_t number, int64_t shown) {
  if (number == shown) return;
  const std::string text = std::string(word) + std::to_string(number);
  out_.bytes(kDescription, text);
}

void PerfettoWriter::process_tracks() {
  for (const Process& process : events_.processes) {
    const int64_t pid = numbers_.pid(process.pid);
    const Packet track(stream_, kTrackDescriptor);
    out_.varint(kUuid, next_uuid_++);
    real_number("sonde pid ", process.pid, pid);
    const ProtoMessage body(out_, 3);
    out_.varint(1, static_cast<uint64_t>(pid));
    if (!process.command.empty()) out_.bytes(2, fit_text(process.command, scratch_));
    const std::string title = process_title(process);
    out_.bytes(6, fit_text(title, scratch_));
  }
}

uint64_t PerfettoWriter::process_track(int64_t pid) const {
  for (size_t i = 0; i < events_.processes.size(); ++i) {
    if (events_.processes[i].pid == pid) return i + 1;
  }
  return 0;
}

uint64_t PerfettoWriter::thread_track(const Thread& thread) {
  const uint64_t uuid = thread_tracks_[{thread.pid, thread.tid}] = next_uuid_++;
  const int64_t tid = numbers_.tid(thread.pid, thread.tid);
  const Packet track(stream_, kTrackDescriptor);
  out_.varint(kUuid, uuid);
  out_.varint(kParentUuid, process_track(thread.pid));
  real_number("sonde tid ", thread.tid, tid);
  const ProtoMessage body(out_, 4);
  out_.varint(1, static_cast<uint64_t>(numbers_.pid(thread.pid)));
  out_.varint(2, static_cast<uint64_t>(tid));
  const std::string title = thread_title(thread, 0);
  out_.bytes(5, fit_text(title, scratch_));
  return uuid;
}

void PerfettoWriter::apis() {
  const Layout layout = lay_out_calls(events_);
  uint64_t main_track = 0;
  for (const Lane& lane : layout.lanes) {
    const Thread& thread = events_.threads[lane.track];
    uint64_t track;
    if (lane.lane == 0) {
      main_track = track = thread_track(thread);
    } else {
      track = named_track(main_track, thread_title(thread, lane.lane));
    }
    api_lane(lane, layout, track);
  }
}

// Threads with nothing but sampled stacks: a viewer takes their names from here.
void PerfettoWriter::silent_threads() {
  for (const Thread& thread : exporting::silent_threads(events_)) thread_track(thread);
}

// The events of a lane nest, so the ends come out in the right order from a stack.
void PerfettoWriter::api_lane(const Lane& lane, const Layout& layout, uint64_t track) {
  std::vector<int64_t> open;
  for (uint32_t i = lane.begin; i < lane.end; ++i) {
    const size_t index = layout.order[i];
    const Api& api = events_.apis[index];
    while (!open.empty() && open.back() <= api.start_ns) {
      end_event(open.back(), track);
      open.pop_back();
    }
    api_event(index, track);
    if (api.duration_ns() > 0) open.push_back(api.end_ns);
  }
  for (; !open.empty(); open.pop_back()) end_event(open.back(), track);
}

// The domain follows from two numbers, so its text is looked up once for each pair.
uint64_t PerfettoWriter::category_iid(const Api& api) {
  if (api.domain == last_domain_ && api.name == last_name_) return last_category_;
  last_domain_ = api.domain;
  last_name_ = api.name;
  return last_category_ = categories_.iid(events_.domain(api));
}

void PerfettoWriter::end_event(int64_t time_ns, uint64_t track) {
  const TrackEvent event(stream_, kEnd, track, time_ns);
}

// The arguments of a call as annotations. Numbers first: a new one writes a packet of its own.
void PerfettoWriter::intern_arguments(const Api& api) {
  annotations_.clear();
  const std::string_view text = events_.arguments(api);
  if (text.empty()) return;
  if (!arguments_.split(text)) {
    annotations_.push_back({args_name_, kAnnotationText, 0, args_.iid(api.args), text});
    return;
  }
  if (!arguments_.was_json()) {
    annotations_.push_back({annotation_names_.iid(kPairsName), kAnnotationInt, 1, 0, {}});
  }
  for (const CallArgument& argument : arguments_.list()) {
    const uint64_t name = annotation_names_.iid(argument.name);
    switch (argument.kind) {
      case CallArgument::Kind::kInteger:
        annotations_.push_back({name, kAnnotationInt, argument.integer, 0, {}});
        break;
      case CallArgument::Kind::kText:
        annotations_.push_back(
            {name, kAnnotationText, 0, values_.iid(argument.text), argument.text});
        break;
      case CallArgument::Kind::kJson:
        annotations_.push_back({name, kAnnotationJson, 0, 0, argument.text});
        break;
    }
  }
}

void PerfettoWriter::api_event(size_t index, uint64_t track) {
  ++counts_.apis;
  const Api& api = events_.apis[index];
  // Numbers first: a new one writes a packet of its own.
  const bool own_name = events_.is_mark(api) && api.args != kNone;
  const uint64_t name = own_name ? marker_names_.iid(api.args) : names_.iid(api.name);
  const uint64_t category = category_iid(api);
  intern_arguments(api);

  const TrackEvent event(stream_, api.duration_ns() == 0 ? kInstant : kBegin, track, api.start_ns);
  out_.varint(kCategoryIids, category);
  if (name != 0) {
    out_.varint(kNameIid, name);
  } else {
    out_.bytes(kName, fit_text(events_.title(api), scratch_));
  }
  out_.varint(kCorrelationId, static_cast<uint64_t>(api.id));
  for (const Annotation& argument : annotations_) {
    const ProtoMessage annotation(out_, kAnnotation);
    out_.varint(kAnnotationNameIid, argument.name_iid);
    if (argument.field == kAnnotationInt) {
      out_.varint(kAnnotationInt, static_cast<uint64_t>(argument.integer));
    } else if (argument.value_iid != 0) {
      out_.varint(kAnnotationTextIid, argument.value_iid);
    } else {
      out_.bytes(argument.field, fit_text(argument.text, scratch_));
    }
  }
  if (events_.is_mark(api)) {
    const ProtoMessage annotation(out_, kAnnotation);
    out_.varint(kAnnotationNameIid, marker_name_);
    out_.varint(kAnnotationInt, 1);
  }
  launch_fields(index);
}

// What leads from a call to the operations it launched.
void PerfettoWriter::launch_fields(size_t index) {
  const Api& api = events_.apis[index];
  const uint32_t links_end = events_.apis[index + 1].first_link;
  if (api.first_link >= links_end || api.duration_ns() == 0) return;
  counts_.flows += links_end - api.first_link;
  if (track_events_) {
    for (uint64_t link = api.first_link; link < links_end; ++link) out_.fixed64(kFlow, link + 1);
    return;
  }
  const uint64_t number = api_number(events_.domain(api));
  if (number != 0) out_.varint(kGpuApi, number);
  const ProtoMessage correlation(out_, kGpuCorrelation);
  for (uint32_t link = api.first_link; link < links_end; ++link) {
    out_.varint(1, uint64_t{events_.links[link].op} + 1);
  }
}

// Values of the machine hang below a track of their device: "gpu 0", "host 0".
uint64_t PerfettoWriter::counter_parent(const Series& series) {
  if (!series.of_machine()) return process_track(series.pid);
  const size_t number = series.name.find(' ');
  const std::string device = series.name.substr(0, series.name.find(' ', number + 1));
  const auto [known, is_new] = device_tracks_.try_emplace(device, 0);
  if (is_new) known->second = named_track(0, device);
  return known->second;
}

uint64_t PerfettoWriter::counter_track(const Series& series) {
  const uint64_t parent = counter_parent(series);
  const uint64_t track = next_uuid_++;
  const Packet descriptor(stream_, kTrackDescriptor);
  out_.varint(kUuid, track);
  if (parent != 0) out_.varint(kParentUuid, parent);
  out_.bytes(kTrackName, fit_text(series.name, scratch_));
  const ProtoMessage counter(out_, 8);
  const CounterUnit unit = counter_unit(series.name);
  if (unit.number != 0) out_.varint(3, unit.number);
  if (!unit.name.empty()) out_.bytes(6, unit.name);
  return track;
}

void PerfettoWriter::samples() {
  uint64_t track = 0;
  uint32_t last_series = kNone;
  for (const Sample& sample : events_.samples) {
    if (sample.series != last_series) {
      last_series = sample.series;
      track = counter_track(events_.series[sample.series]);
    }
    ++counts_.counters;
    const TrackEvent event(stream_, kCounter, track, sample.time_ns);
    out_.real(kDoubleCounter, sample.value);
  }
}

namespace {

// What the recording knows about other clocks: their distance to CLOCK_MONOTONIC.
Result<ClockOffsets> load_clocks(store::Reader& reader) {
  ClockOffsets offsets;
  SONDE_ASSIGN(const bool known, reader.database().has_table("sonde_clock_snapshot"));
  if (!known) return offsets;
  const auto offset_of = [&](const char* clock) {
    return reader.database().integer(
        "SELECT value - monotonic_ns FROM sonde_clock_snapshot WHERE lower(clock) LIKE '%" +
        std::string(clock) + "' ORDER BY id LIMIT 1");
  };
  SONDE_ASSIGN(offsets.realtime_ns, offset_of("realtime"));
  SONDE_ASSIGN(offsets.boottime_ns, offset_of("boottime"));
  offsets.boottime_ns = std::max<int64_t>(offsets.boottime_ns, 0);
  return offsets;
}

Result<Counts> write_perfetto(store::Reader& reader, const std::string& path,
                              const Options& options) {
  SONDE_ASSIGN(const ClockOffsets clocks, load_clocks(reader));
  SONDE_ASSIGN(const CallSamples samples, load_call_samples(reader, options));
  SONDE_ASSIGN(const Events events, load_events(reader, options, OfOps::kUsual, &samples));
  SONDE_ASSIGN(Sink sink, Sink::create(path, Sink::Encoding::kPlain));
  const Counts counts =
      PerfettoWriter(events, samples, clocks, options.track_events, sink).write(options.overlay);
  SONDE_TRY(sink.finish());
  return counts;
}

}  // namespace

Exporter perfetto_exporter() {
  return {"perfetto",
          "Perfetto protobuf for ui.perfetto.dev and trace_processor",
          {".pftrace", ".perfetto-trace"},
          write_perfetto};
}

}  // namespace sonde::exporting
