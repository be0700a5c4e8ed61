// --track-events: operations as ordinary slices on tracks of their own, for viewers that know no
// render stages.
#include "export/events/titles.h"
#include "export/perfetto/writer.h"

namespace sonde::exporting {

namespace {

std::string_view category_of(OpClass op_class) {
  return op_class == OpClass::kKernel ? "kernel" : store::moves_memory(op_class) ? "copy" : "op";
}

}  // namespace

uint64_t PerfettoWriter::named_track(uint64_t parent, const std::string& name) {
  const uint64_t uuid = next_uuid_++;
  const Packet track(stream_, kTrackDescriptor);
  out_.varint(kUuid, uuid);
  if (parent != 0) out_.varint(kParentUuid, parent);
  out_.bytes(kTrackName, fit_text(name, scratch_));
  return uuid;
}

void PerfettoWriter::op_tracks() {
  const Layout layout = lay_out_ops(events_);
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
  const bool instant = op.duration_ns() == 0;
  const Shape shape = op.shape == kNone ? Shape() : events_.shapes[op.shape];
  const std::pair<std::string_view, int64_t> facts[] = {
      {"device", queue.gpu_id},    {"stream", queue.queue_id},  {"bytes", op.bytes},
      {"grid_x", shape.grid[0]},   {"grid_y", shape.grid[1]},   {"grid_z", shape.grid[2]},
      {"group_x", shape.group[0]}, {"group_y", shape.group[1]}, {"group_z", shape.group[2]}};
  for (const auto& [fact, value] : facts) annotation_names_.iid(fact);
  const uint64_t mangled_name = annotation_names_.iid("mangled_name");

  {
    const TrackEvent event(stream_, instant ? kInstant : kBegin, track, op.start_ns);
    out_.varint(kCategoryIids, category);
    out_.varint(kNameIid, name);
    for (const auto& [fact, value] : facts) {
      if (value < 0) continue;
      const ProtoMessage annotation(out_, kAnnotation);
      out_.varint(kAnnotationNameIid, annotation_names_.iid(fact));
      out_.varint(kAnnotationInt, static_cast<uint64_t>(value));
    }
    if (mangled) {
      const ProtoMessage annotation(out_, kAnnotation);
      out_.varint(kAnnotationNameIid, mangled_name);
      out_.bytes(kAnnotationText, fit_text(events_.names.at(op.name), scratch_));
    }
    for (uint32_t link = op.first_link; link != kNone; link = events_.links[link].next_of_op) {
      if (events_.apis[events_.links[link].api].duration_ns() > 0) {
        out_.fixed64(kTerminatingFlow, uint64_t{link} + 1);
      }
    }
  }
  if (!instant) end_event(op.end_ns, track);
}

}  // namespace sonde::exporting
