// --track-events: operations as ordinary slices on tracks of their own, for viewers that know no
// render stages.
#include "export/events/titles.h"
#include "export/perfetto/writer.h"

namespace sonde::exporting {

namespace {

// TracePacket
constexpr uint32_t kTrackEvent = 11, kTrackDescriptor = 60;
// TrackEvent
constexpr uint32_t kCategoryIids = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrackUuid = 11,
                   kTerminatingFlow = 48;
constexpr uint64_t kBegin = 1, kInstant = 3;
// DebugAnnotation
constexpr uint32_t kAnnotationNameIid = 1, kAnnotationInt = 4, kAnnotationText = 6;

std::string_view category_of(OpClass op_class) {
  return op_class == OpClass::kKernel ? "kernel" : store::moves_memory(op_class) ? "copy" : "op";
}

}  // namespace

uint64_t PerfettoWriter::named_track(uint64_t parent, const std::string& name) {
  const uint64_t uuid = next_uuid_++;
  const size_t packet = stream_.begin_packet();
  const size_t track = out_.begin(kTrackDescriptor);
  out_.varint(1, uuid);
  if (parent != 0) out_.varint(5, parent);
  out_.bytes(2, fit_text(name, scratch_));
  out_.end(track);
  stream_.end_packet(packet);
  return uuid;
}

void PerfettoWriter::op_tracks() {
  const auto queue_of = [](const Op& op) { return op.queue; };
  const Layout layout =
      lay_out(events_.ops, events_.ops.size(), events_.queues.size(), Nesting::kNever, queue_of);
  std::vector<uint64_t> device_tracks(events_.devices.size());
  for (const Lane& lane : layout.lanes) {
    const Queue& queue = events_.queues[lane.track];
    uint64_t& device = device_tracks[events_.device_of(queue)];
    if (device == 0) {
      device = named_track(0, device_title(events_.devices[events_.device_of(queue)]));
    }
    const uint64_t track = named_track(device, queue_title(events_, queue, lane.lane));
    for (uint32_t i = lane.begin; i < lane.end; ++i) op_slice(layout.order[i], track);
  }
}

void PerfettoWriter::op_slice(size_t index, uint64_t track) {
  ++counts_.ops;
  const Op& op = events_.ops[index];
  const Queue& queue = events_.queues[op.queue];
  const uint64_t name = op_name(op);
  const bool mangled = kernels_.demangled_iid(op.name) != 0;
  const uint64_t category = categories_.iid(category_of(events_.class_of(op)));
  const Shape shape = op.shape == kNone ? Shape() : events_.shapes[op.shape];
  const std::pair<std::string_view, int64_t> facts[] = {
      {"device", queue.gpu_id},    {"stream", queue.queue_id},  {"bytes", op.bytes},
      {"grid_x", shape.grid[0]},   {"grid_y", shape.grid[1]},   {"grid_z", shape.grid[2]},
      {"group_x", shape.group[0]}, {"group_y", shape.group[1]}, {"group_z", shape.group[2]}};
  for (const auto& [fact, value] : facts) annotation_names_.iid(fact);
  const uint64_t mangled_name = annotation_names_.iid("mangled_name");

  const size_t packet = stream_.begin_packet(op.start_ns);
  const size_t event = out_.begin(kTrackEvent);
  out_.varint(kType, op.duration_ns() == 0 ? kInstant : kBegin);
  out_.varint(kTrackUuid, track);
  out_.varint(kCategoryIids, category);
  out_.varint(kNameIid, name);
  for (const auto& [fact, value] : facts) {
    if (value < 0) continue;
    const size_t annotation = out_.begin(kAnnotation);
    out_.varint(kAnnotationNameIid, annotation_names_.iid(fact));
    out_.varint(kAnnotationInt, static_cast<uint64_t>(value));
    out_.end(annotation);
  }
  if (mangled) {
    const size_t annotation = out_.begin(kAnnotation);
    out_.varint(kAnnotationNameIid, mangled_name);
    out_.bytes(kAnnotationText, fit_text(events_.names.at(op.name), scratch_));
    out_.end(annotation);
  }
  for (uint32_t link = op.first_link; link != kNone; link = events_.links[link].next_of_op) {
    if (events_.apis[events_.links[link].api].duration_ns() > 0) {
      out_.fixed64(kTerminatingFlow, uint64_t{link} + 1);
    }
  }
  out_.end(event);
  stream_.end_packet(packet);
  if (op.duration_ns() > 0) end_event(op.end_ns, track);
}

}  // namespace sonde::exporting
