#include <algorithm>

#include "export/chrome/writer.h"
#include "export/events/titles.h"

namespace sonde::exporting {

namespace {

std::string_view op_category(OpClass op_class) {
  constexpr const char* kCategories[] = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_op", "gpu_op"};
  return kCategories[static_cast<size_t>(op_class)];
}

std::string axes_text(const char* key, const int64_t (&axes)[3]) {
  if (axes[0] < 0) return {};
  return std::string(",\"") + key + "\":[" + std::to_string(axes[0]) + "," +
         std::to_string(axes[1]) + "," + std::to_string(axes[2]) + "]";
}

std::string number_text(const char* key, int64_t value) {
  return value < 0 ? std::string() : std::string(",\"") + key + "\":" + std::to_string(value);
}

// Viewers count work groups; the work items say the same exactly.
std::string shape_text(const Shape& shape) {
  return axes_text("grid", shape.grid) + axes_text("block", shape.group) +
         axes_text("work items", shape.items) +
         number_text("shared memory", shape.group_segment_bytes) +
         number_text("private memory", shape.private_segment_bytes);
}

}  // namespace

void ChromeWriter::ops() {
  for (const Shape& shape : events_.shapes) shapes_.push_back(shape_text(shape));
  const Layout layout = lay_out_ops(events_);
  for (const Lane& lane : layout.lanes) op_lane(lane, layout);
}

void ChromeWriter::op_lane(const Lane& lane, const Layout& layout) {
  const Queue& queue = events_.queues[lane.track];
  const uint32_t device = events_.device_of(queue);
  const int64_t pid = device_pids_[device];
  device_tids_.resize(device_pids_.size());
  const int64_t tid = ++device_tids_[device];
  metadata("thread_name", pid, tid, queue_title(events_, queue, lane.lane));
  sort_index("thread_sort_index", pid, tid, tid);
  const std::string place = place_text({pid, tid});
  for (uint32_t i = lane.begin; i < lane.end; ++i) {
    op(events_.ops[layout.order[i]], layout.order[i], place);
  }
}

void ChromeWriter::op(const Op& op, uint32_t index, const std::string& place) {
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
  sink_.append(",\"args\":{");
  if (json_members(events_.op_args.at(op.args), members_)) {
    given_op_arguments(op);
  } else {
    own_op_arguments(op);
  }
  extras(index);
  sink_.append("}}");
  for (uint32_t link = op.first_link; link != kNone; link = events_.links[link].next_of_op) {
    if (!has_arrow(events_.links[link])) continue;
    flow("{\"ph\":\"f\",\"bp\":\"e\",\"id\":", link, place, op.start_ns);
    sink_.append("}");
  }
}

// The arguments that the imported file had; the numbers that Sonde may have changed are its own.
void ChromeWriter::given_op_arguments(const Op& op) {
  const Queue& queue = events_.queues[op.queue];
  member("\"device\":", queue.gpu_id);
  member(",\"stream\":", queue.queue_id);
  const bool is_linked = op.first_link != kNone;
  if (is_linked) {
    member(",\"correlation\":", correlation_of(events_.links[op.first_link].api));
  }
  for (const JsonMember& given : members_) {
    if (given.key == "device" || given.key == "stream") continue;
    if (given.key == "correlation" && (is_linked || !keep_correlations_)) continue;
    sink_.append(",\"");
    sink_.append(given.key);
    sink_.append("\":");
    sink_.append(given.value);
  }
}

void ChromeWriter::own_op_arguments(const Op& op) {
  const Queue& queue = events_.queues[op.queue];
  member("\"device\":", queue.gpu_id);
  member(",\"stream\":", queue.queue_id);
  if (op.first_link != kNone) {
    member(",\"correlation\":", correlation_of(events_.links[op.first_link].api));
  } else if (queue.pid != kNoPid) {
    member(",\"sonde pid\":", queue.pid);
  }
  if (op.name != op.type) {
    sink_.append(",\"kind\":");
    sink_.append(quoted_name(op.type));
  }
  if (op.shape != kNone) sink_.append(shapes_[op.shape]);
  if (op.bytes >= 0) copied_bytes(op);
  if (op.status != 0) member(",\"status\":", op.status);
  if (const auto given = events_.op_args.at(op.args); !given.empty()) member(",\"args\":", given);
  if (imported()) sink_.append(",\"sonde row\":1");
}

void ChromeWriter::extras(uint32_t op) {
  const OpExtra& extra = events_.op_extras[op];
  if (extra.sequence != 0) member(",\"sonde sequence\":", extra.sequence);
  if (extra.queued_ns >= 0) member(",\"sonde queued\":", extra.queued_ns);
  if (extra.submitted_ns >= 0) member(",\"sonde submitted\":", extra.submitted_ns);
  const auto before = [](const OpCounter& counter, uint32_t of) { return counter.op < of; };
  const auto& counters = events_.op_counters;
  auto at = std::lower_bound(counters.begin(), counters.end(), op, before);
  for (; at != counters.end() && at->op == op; ++at) {
    sink_.append(",");
    text("sonde counter " + std::string(events_.names.at(at->name)));
    sink_.append(":");
    append_real(sink_, at->value);
  }
}

void ChromeWriter::copied_bytes(const Op& op) {
  member(",\"bytes\":", op.bytes);
  if (op.duration_ns() == 0) return;  // bytes per ns are GB per s
  const __int128 thousandths = static_cast<__int128>(op.bytes) * 1000 / op.duration_ns();
  sink_.append(",\"memory bandwidth (GB/s)\":");
  append_thousandths(sink_, static_cast<int64_t>(std::min<__int128>(thousandths, INT64_MAX)));
}

// The arrow to the first operation of a call has the number that links them, as in PyTorch's
// traces; further ones, and those of calls with a number that others have too, would be the same
// arrow to a viewer and have one of their own.
void ChromeWriter::number_arrow(size_t link) {
  const uint32_t api = events_.links[link].api;
  const int64_t number = correlation_of(api);
  const bool fits = link == events_.apis[api].first_link && number >= 0 && number < kFirstArrow;
  if (own_arrow_.empty()) own_arrow_.resize(events_.links.size());
  own_arrow_[link] = !fits || (imported() && !arrows_.insert(number).second);
}

void ChromeWriter::flow(std::string_view phase, size_t link, const std::string& place,
                        int64_t time_ns) {
  sink_.append(",\n");
  sink_.append(phase);
  append_integer(sink_, own_arrow_[link] ? kFirstArrow + static_cast<int64_t>(link)
                                         : correlation_of(events_.links[link].api));
  sink_.append(",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
  sink_.append(place);
  time(time_ns);
}

}  // namespace sonde::exporting
