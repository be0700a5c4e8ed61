// Perfetto protobuf (docs/exports.md): GPU operations as render stage events, which keep exact
// durations however they overlap; calls and markers as slices of their threads; counters as counter
// tracks. Times are CLOCK_MONOTONIC ns. Field numbers are those of Perfetto's public .proto files.
#include <algorithm>
#include <string>
#include <vector>

#include "base/strings.h"
#include "export/events.h"
#include "export/exporter.h"
#include "export/intern.h"
#include "export/lanes.h"
#include "export/packets.h"
#include "export/sink.h"
#include "export/titles.h"

namespace sonde::exporting {

namespace {

// TracePacket
constexpr uint32_t kClockSnapshot = 6, kTrackEvent = 11, kInternedData = 12, kRenderStage = 53,
                   kTimestampClock = 58, kDefaults = 59, kTrackDescriptor = 60, kGpuInfo = 128;
// TrackEvent
constexpr uint32_t kCategoryIids = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrackUuid = 11,
                   kName = 23, kDoubleCounter = 44, kCorrelationId = 52, kGpuCorrelation = 3000,
                   kGpuApi = 3001;
constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
// BuiltinClock
constexpr uint64_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;
// InternedGraphicsContext.Api
constexpr uint64_t kOpenCl = 3, kCuda = 4, kHip = 5;
// InternedData
constexpr uint32_t kGraphicsContexts = 23, kGpuSpecifications = 24;

uint64_t api_number(std::string_view backend) {
  if (backend == "opencl") return kOpenCl;
  if (backend == "cuda") return kCuda;
  if (starts_with_any(backend, {"hip", "hsa"})) return kHip;
  return 0;
}

struct ClockOffsets {
  int64_t realtime_ns = 0;  // 0 = not known
  int64_t boottime_ns = 0;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const Events& events, const ClockOffsets& clocks, Sink& sink)
      : events_(events), clocks_(clocks), stream_(sink), out_(stream_.out()),
        names_(stream_, InternField::kEventName, events.names),
        kernels_(stream_, InternField::kComputeKernel, events.names),
        arg_names_(stream_, InternField::kComputeArgName),
        annotation_names_(stream_, InternField::kAnnotationName),
        categories_(stream_, InternField::kCategory),
        args_(stream_, InternField::kStringValue, events.args, 1),
        marker_names_(stream_, InternField::kEventName, events.args,
                      uint64_t{events.names.size()} + 1) {}

  Counts write() {
    first_packet();
    clock_snapshot();
    process_tracks();
    devices();
    apis();
    ops();
    samples();
    stream_.flush();
    counts_.skipped = events_.skipped;
    return counts_;
  }

 private:
  void first_packet();
  void clock_snapshot();
  void process_tracks();
  void devices();
  void contexts_and_queues();
  void stages();
  void apis();
  uint64_t thread_track(const Thread& thread);
  uint64_t lane_track(uint64_t thread_track, const Thread& thread, uint32_t lane);
  void api_lane(const Lane& lane, const Layout& layout, uint64_t track);
  void api_event(size_t index, uint64_t track);
  void end_event(int64_t time_ns, uint64_t track);
  void ops();
  std::string shape_fields(const Shape& shape);
  void op(size_t index);
  void compute_arg(ProtoBuffer& out, std::string_view name, int64_t value);
  void samples();
  uint64_t process_track(int64_t pid) const;
  int64_t gpu_number(uint32_t device) const;

  const Events& events_;
  const ClockOffsets clocks_;
  PacketStream stream_;
  ProtoBuffer& out_;
  InternedTable names_, kernels_;
  InternedSet arg_names_, annotation_names_, categories_;
  InternedRepeats args_, marker_names_;
  bool real_gpu_numbers_ = true;
  uint64_t next_uuid_ = 1;
  std::string scratch_;
  std::vector<std::string> queue_args_, shapes_;
  std::vector<uint64_t> queue_api_;
  uint64_t args_name_ = 0;
  Counts counts_;
};

void PerfettoWriter::first_packet() {
  const size_t packet = stream_.begin_first_packet();
  const size_t defaults = out_.begin(kDefaults);
  out_.varint(kTimestampClock, kMonotonic);
  out_.end(defaults);
  stream_.end_packet(packet);
  args_name_ = annotation_names_.iid("args");
}

// Says how CLOCK_MONOTONIC stands to the clocks that Perfetto may want to show. A file that does
// not know BOOTTIME says that they are equal, as they are on a machine that never slept.
void PerfettoWriter::clock_snapshot() {
  const auto clock = [&](uint64_t id, int64_t time_ns) {
    const size_t entry = out_.begin(1);
    out_.varint(1, id);
    out_.varint(2, static_cast<uint64_t>(time_ns));
    out_.end(entry);
  };
  const int64_t now_ns = std::max<int64_t>(events_.first_ns, 1);
  const size_t packet = stream_.begin_packet();
  const size_t snapshot = out_.begin(kClockSnapshot);
  clock(kMonotonic, now_ns);
  clock(kBoottime, now_ns + clocks_.boottime_ns);
  if (clocks_.realtime_ns > 0) clock(kRealtime, now_ns + clocks_.realtime_ns);
  out_.varint(2, kMonotonic);  // primary_trace_clock
  out_.end(snapshot);
  stream_.end_packet(packet);
}

void PerfettoWriter::process_tracks() {
  for (const Process& process : events_.processes) {
    const size_t packet = stream_.begin_packet();
    const size_t track = out_.begin(kTrackDescriptor);
    out_.varint(1, next_uuid_++);
    const size_t body = out_.begin(3);
    out_.varint(1, static_cast<uint64_t>(process.pid));
    if (!process.command.empty()) out_.bytes(2, fit_text(process.command, scratch_));
    const std::string title = process_title(process);
    out_.bytes(6, fit_text(title, scratch_));
    out_.end(body);
    out_.end(track);
    stream_.end_packet(packet);
  }
}

uint64_t PerfettoWriter::process_track(int64_t pid) const {
  for (size_t i = 0; i < events_.processes.size(); ++i) {
    if (events_.processes[i].pid == pid) return i + 1;
  }
  return 0;
}

// Perfetto knows a GPU by its place in GpuInfo. Where gpu_id is a small number it is that place.
int64_t PerfettoWriter::gpu_number(uint32_t device) const {
  return real_gpu_numbers_ ? events_.devices[device].gpu_id : device;
}

void PerfettoWriter::devices() {
  if (events_.devices.empty()) return;
  for (const Device& device : events_.devices) {
    if (device.gpu_id < 0 || device.gpu_id >= 64) real_gpu_numbers_ = false;
  }
  const size_t packet = stream_.begin_packet();
  const size_t info = out_.begin(kGpuInfo);
  int64_t next = 0;
  for (uint32_t i = 0; i < events_.devices.size(); ++i) {
    for (; next < gpu_number(i); ++next) {
      const size_t gap = out_.begin(1);
      out_.bytes(1, "(no operations recorded)");
      out_.end(gap);
    }
    ++next;
    const Device& device = events_.devices[i];
    const std::string title = device.name.empty() ? device_title(device) : device.name;
    const size_t gpu = out_.begin(1);
    out_.bytes(1, fit_text(title, scratch_));
    if (!device.vendor.empty()) out_.bytes(2, fit_text(device.vendor, scratch_));
    out_.end(gpu);
  }
  out_.end(info);
  stream_.end_packet(packet);
}

uint64_t PerfettoWriter::thread_track(const Thread& thread) {
  const uint64_t uuid = next_uuid_++;
  const size_t packet = stream_.begin_packet();
  const size_t track = out_.begin(kTrackDescriptor);
  out_.varint(1, uuid);
  out_.varint(5, process_track(thread.pid));
  const size_t body = out_.begin(4);
  out_.varint(1, static_cast<uint64_t>(thread.pid));
  out_.varint(2, static_cast<uint64_t>(thread.tid));
  const std::string title = thread_title(thread, 0);
  out_.bytes(5, fit_text(title, scratch_));
  out_.end(body);
  out_.end(track);
  stream_.end_packet(packet);
  return uuid;
}

uint64_t PerfettoWriter::lane_track(uint64_t thread_track, const Thread& thread, uint32_t lane) {
  const uint64_t uuid = next_uuid_++;
  const size_t packet = stream_.begin_packet();
  const size_t track = out_.begin(kTrackDescriptor);
  out_.varint(1, uuid);
  out_.varint(5, thread_track);
  const std::string title = thread_title(thread, lane);
  out_.bytes(2, fit_text(title, scratch_));
  out_.end(track);
  stream_.end_packet(packet);
  return uuid;
}

void PerfettoWriter::apis() {
  const auto thread_of = [](const Api& api) { return api.thread; };
  const Layout layout = lay_out(events_.apis, events_.api_count(), events_.threads.size(),
                                Nesting::kAllowed, thread_of);
  uint64_t main_track = 0;
  for (const Lane& lane : layout.lanes) {
    const Thread& thread = events_.threads[lane.track];
    uint64_t track;
    if (lane.lane == 0) {
      main_track = track = thread_track(thread);
    } else {
      track = lane_track(main_track, thread, lane.lane);
    }
    api_lane(lane, layout, track);
  }
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

void PerfettoWriter::end_event(int64_t time_ns, uint64_t track) {
  const size_t packet = stream_.begin_packet(time_ns);
  const size_t event = out_.begin(kTrackEvent);
  out_.varint(kType, kEnd);
  out_.varint(kTrackUuid, track);
  out_.end(event);
  stream_.end_packet(packet);
}

void PerfettoWriter::api_event(size_t index, uint64_t track) {
  ++counts_.apis;
  const Api& api = events_.apis[index];
  // Numbers first: a new one writes a packet of its own.
  const bool own_name = events_.is_mark(api) && api.args != kNone;
  const uint64_t name = own_name ? marker_names_.iid(api.args) : names_.iid(api.name);
  const uint64_t category = categories_.iid(events_.domain(api));
  const std::string_view arguments = events_.arguments(api);
  const uint64_t arguments_iid = arguments.empty() ? 0 : args_.iid(api.args);

  const size_t packet = stream_.begin_packet(api.start_ns);
  const size_t event = out_.begin(kTrackEvent);
  out_.varint(kType, api.duration_ns() == 0 ? kInstant : kBegin);
  out_.varint(kTrackUuid, track);
  out_.varint(kCategoryIids, category);
  if (name != 0) {
    out_.varint(kNameIid, name);
  } else {
    out_.bytes(kName, fit_text(events_.title(api), scratch_));
  }
  out_.varint(kCorrelationId, static_cast<uint64_t>(api.id));
  if (!arguments.empty()) {
    const size_t annotation = out_.begin(kAnnotation);
    out_.varint(1, args_name_);
    if (arguments_iid != 0) {
      out_.varint(17, arguments_iid);
    } else {
      out_.bytes(6, fit_text(arguments, scratch_));
    }
    out_.end(annotation);
  }
  const uint32_t links_end = events_.apis[index + 1].first_link;
  if (api.first_link < links_end && api.duration_ns() > 0) {
    const size_t correlation = out_.begin(kGpuCorrelation);
    for (uint32_t link = api.first_link; link < links_end; ++link) {
      ++counts_.flows;
      out_.varint(1, uint64_t{events_.links[link].op} + 1);
    }
    out_.end(correlation);
    const uint64_t number = api_number(events_.domain(api));
    if (number != 0) out_.varint(kGpuApi, number);
  }
  out_.end(event);
  stream_.end_packet(packet);
}

void PerfettoWriter::compute_arg(ProtoBuffer& out, std::string_view name, int64_t value) {
  const uint64_t name_iid = arg_names_.iid(name);
  const size_t arg = out.begin(3);
  out.varint(1, name_iid);
  out.varint(3, static_cast<uint64_t>(value));
  out.end(arg);
}

std::string PerfettoWriter::shape_fields(const Shape& shape) {
  ProtoBuffer out;
  const auto axes = [&](uint32_t field, const int64_t (&values)[3]) {
    if (values[0] < 0) return;
    const size_t dimensions = out.begin(field);
    for (uint32_t i = 0; i < 3; ++i) out.varint(i + 1, static_cast<uint64_t>(values[i]));
    out.end(dimensions);
  };
  axes(1, shape.grid);
  axes(2, shape.group);
  static constexpr std::string_view kItems[3] = {"work_items_x", "work_items_y", "work_items_z"};
  for (int i = 0; i < 3; ++i) {
    if (shape.items[i] >= 0) compute_arg(out, kItems[i], shape.items[i]);
  }
  if (shape.group_segment_bytes >= 0) {
    compute_arg(out, "group_segment_bytes", shape.group_segment_bytes);
  }
  if (shape.private_segment_bytes >= 0) {
    compute_arg(out, "private_segment_bytes", shape.private_segment_bytes);
  }
  return std::string(out.view());
}

// One graphics context per device and process, one specification per queue and per kind of
// operation. iids of queues: queue + 1; of kinds: queues + name + 1.
void PerfettoWriter::contexts_and_queues() {
  for (size_t i = 0; i < events_.queues.size(); ++i) {
    const Queue& queue = events_.queues[i];
    const uint32_t device = events_.device_of(queue);
    const size_t packet = stream_.begin_packet();
    const size_t data = out_.begin(kInternedData);
    const size_t context = out_.begin(kGraphicsContexts);
    out_.varint(1, i + 1);
    if (queue.pid >= 0) out_.varint(2, static_cast<uint64_t>(queue.pid));
    uint64_t api = api_number(events_.devices[device].backend);
    if (api == 0 && events_.devices[device].backend.empty()) api = kHip;
    out_.varint(3, api);
    out_.end(context);
    const size_t specification = out_.begin(kGpuSpecifications);
    out_.varint(1, i + 1);
    out_.bytes(2, queue_title(events_, queue, 0));
    out_.end(specification);
    out_.end(data);
    stream_.end_packet(packet);

    ProtoBuffer args;
    compute_arg(args, "device", queue.gpu_id);
    compute_arg(args, "stream", queue.queue_id);
    queue_args_.emplace_back(args.view());
  }
}

void PerfettoWriter::stages() {
  std::vector<bool> written(events_.names.size());
  for (const Op& op : events_.ops) {
    if (written[op.type]) continue;
    written[op.type] = true;
    const size_t packet = stream_.begin_packet();
    const size_t data = out_.begin(kInternedData);
    const size_t specification = out_.begin(kGpuSpecifications);
    out_.varint(1, events_.queues.size() + op.type + 1);
    out_.bytes(2, fit_text(events_.names.at(op.type), scratch_));
    const bool compute = events_.class_of(op) == OpClass::kKernel;
    out_.varint(4, compute ? 2 : 0);
    out_.end(specification);
    out_.end(data);
    stream_.end_packet(packet);
  }
}

void PerfettoWriter::ops() {
  contexts_and_queues();
  stages();
  for (const Shape& shape : events_.shapes) shapes_.push_back(shape_fields(shape));
  for (size_t i = 0; i < events_.ops.size(); ++i) op(i);
}

void PerfettoWriter::op(size_t index) {
  ++counts_.ops;
  const Op& op = events_.ops[index];
  const Queue& queue = events_.queues[op.queue];
  const uint64_t name = names_.iid(op.name);
  const bool compute = events_.class_of(op) == OpClass::kKernel;
  const uint64_t kernel = compute ? kernels_.iid(op.name) : 0;
  const uint64_t bytes_name = arg_names_.iid("bytes"), status_name = arg_names_.iid("status");

  const size_t packet = stream_.begin_packet(op.start_ns);
  const size_t stage = out_.begin(kRenderStage);
  out_.varint(1, index + 1);
  out_.varint(2, static_cast<uint64_t>(op.duration_ns()));
  out_.varint(5, uint64_t{op.queue} + 1);
  out_.varint(11, static_cast<uint64_t>(gpu_number(events_.device_of(queue))));
  out_.varint(13, uint64_t{op.queue} + 1);
  out_.varint(14, events_.queues.size() + op.type + 1);
  out_.varint(20, name);
  if (kernel != 0) out_.varint(19, kernel);
  const size_t launch = out_.begin(21);
  if (op.shape != kNone) out_.raw(shapes_[op.shape]);
  out_.raw(queue_args_[op.queue]);
  const auto arg = [&](uint64_t name_iid, int64_t value) {
    const size_t entry = out_.begin(3);
    out_.varint(1, name_iid);
    out_.varint(3, static_cast<uint64_t>(value));
    out_.end(entry);
  };
  if (op.bytes >= 0) arg(bytes_name, op.bytes);
  if (op.status != 0) arg(status_name, op.status);
  out_.end(launch);
  out_.end(stage);
  stream_.end_packet(packet);
}

void PerfettoWriter::samples() {
  uint64_t track = 0;
  uint32_t last_series = kNone;
  for (const Sample& sample : events_.samples) {
    if (sample.series != last_series) {
      last_series = sample.series;
      const Series& series = events_.series[sample.series];
      track = next_uuid_++;
      const size_t packet = stream_.begin_packet();
      const size_t descriptor = out_.begin(kTrackDescriptor);
      out_.varint(1, track);
      const uint64_t parent = series.pid >= 0 ? process_track(series.pid) : 0;
      if (parent != 0) out_.varint(5, parent);
      out_.bytes(2, fit_text(series.name, scratch_));
      out_.end(out_.begin(8));
      out_.end(descriptor);
      stream_.end_packet(packet);
    }
    ++counts_.counters;
    const size_t packet = stream_.begin_packet(sample.time_ns);
    const size_t event = out_.begin(kTrackEvent);
    out_.varint(kType, kCounter);
    out_.varint(kTrackUuid, track);
    out_.real(kDoubleCounter, sample.value);
    out_.end(event);
    stream_.end_packet(packet);
  }
}

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
  SONDE_ASSIGN(const Events events, load_events(reader, options));
  SONDE_ASSIGN(Sink sink, Sink::create(path, Sink::Encoding::kPlain));
  const Counts counts = PerfettoWriter(events, clocks, sink).write();
  SONDE_TRY(sink.finish());
  return counts;
}

}  // namespace

const Exporter& perfetto_exporter() {
  static const Exporter kExporter{"perfetto",
                                  "Perfetto protobuf for ui.perfetto.dev and trace_processor",
                                  {".pftrace", ".perfetto-trace"},
                                  write_perfetto};
  return kExporter;
}

}  // namespace sonde::exporting
