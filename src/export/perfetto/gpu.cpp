#include "base/strings.h"
#include "export/events/titles.h"
#include "export/perfetto/writer.h"

namespace sonde::exporting {

namespace {

// TracePacket
constexpr uint32_t kRenderStage = 53, kGpuInfo = 128;
// InternedGraphicsContext.Api
constexpr uint64_t kOpenCl = 3, kCuda = 4, kHip = 5;

void compute_arg(ProtoBuffer& out, uint64_t name_iid, int64_t value) {
  const ProtoMessage arg(out, 3);
  out.varint(1, name_iid);
  out.varint(3, static_cast<uint64_t>(value));
}

}  // namespace

uint64_t api_number(std::string_view backend) {
  if (backend == "opencl") return kOpenCl;
  if (backend == "cuda") return kCuda;
  if (starts_with_any(backend, {"hip", "hsa"})) return kHip;
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
  const Packet info(stream_, kGpuInfo);
  int64_t next = 0;
  for (uint32_t i = 0; i < events_.devices.size(); ++i) {
    for (; next < gpu_number(i); ++next) {
      const ProtoMessage gap(out_, 1);
      out_.bytes(1, "(no operations recorded)");
    }
    ++next;
    const Device& device = events_.devices[i];
    const std::string title = device.name.empty() ? device_title(device) : device.name;
    const ProtoMessage gpu(out_, 1);
    out_.bytes(1, fit_text(title, scratch_));
    if (!device.vendor.empty()) out_.bytes(2, fit_text(device.vendor, scratch_));
  }
}

std::string PerfettoWriter::shape_fields(const Shape& shape) {
  ProtoBuffer out;
  const auto axes = [&](uint32_t field, const int64_t(&values)[3]) {
    if (values[0] < 0) return;
    const ProtoMessage dimensions(out, field);
    for (uint32_t i = 0; i < 3; ++i) out.varint(i + 1, static_cast<uint64_t>(values[i]));
  };
  axes(1, shape.grid);
  axes(2, shape.group);
  static constexpr std::string_view kItems[3] = {"work_items_x", "work_items_y", "work_items_z"};
  for (int i = 0; i < 3; ++i) {
    if (shape.items[i] >= 0 && shape.grid[i] < 0)
      compute_arg(out, arg_names_.iid(kItems[i]), shape.items[i]);
  }
  if (shape.group_segment_bytes >= 0) {
    compute_arg(out, arg_names_.iid("group_segment_bytes"), shape.group_segment_bytes);
  }
  if (shape.private_segment_bytes >= 0) {
    compute_arg(out, arg_names_.iid("private_segment_bytes"), shape.private_segment_bytes);
  }
  return std::string(out.view());
}

// One graphics context per device and process, one specification per queue and per kind of
// operation. iids of queues: queue + 1; of kinds: queues + name + 1.
void PerfettoWriter::contexts_and_queues() {
  for (size_t i = 0; i < events_.queues.size(); ++i) {
    const Queue& queue = events_.queues[i];
    const uint32_t device = events_.device_of(queue);
    uint64_t api = api_number(events_.devices[device].backend);
    if (api == 0 && events_.devices[device].backend.empty()) api = kHip;
    {
      const InternedEntry context(stream_, InternField::kGraphicsContext, i + 1);
      if (queue.pid != kNoPid) out_.varint(2, static_cast<uint64_t>(numbers_.pid(queue.pid)));
      out_.varint(3, api);
    }
    write_interned(stream_, InternField::kGpuSpecification, i + 1, queue_title(events_, queue, 0));
    ProtoBuffer args;
    compute_arg(args, arg_names_.iid("device"), queue.gpu_id);
    compute_arg(args, arg_names_.iid("stream"), queue.queue_id);
    queue_args_.emplace_back(args.view());
  }
}

void PerfettoWriter::stages() {
  std::vector<bool> written(events_.names.size());
  for (const Op& op : events_.ops) {
    if (written[op.type]) continue;
    written[op.type] = true;
    const InternedEntry specification(stream_, InternField::kGpuSpecification,
                                      events_.queues.size() + op.type + 1);
    out_.bytes(2, fit_text(events_.names.at(op.type), scratch_));
    out_.varint(4, events_.class_of(op) == OpClass::kKernel ? 2 : 0);
  }
}

void PerfettoWriter::ops() {
  contexts_and_queues();
  stages();
  for (const Shape& shape : events_.shapes) shapes_.push_back(shape_fields(shape));
  for (size_t i = 0; i < events_.ops.size(); ++i) op(i);
}

// As people read it; a mangled one is kept as the compute kernel's.
uint64_t PerfettoWriter::op_name(const Op& op) {
  const uint64_t demangled = kernels_.demangled_iid(op.name);
  return demangled != 0 ? demangled : names_.iid(op.name);
}

void PerfettoWriter::op(size_t index) {
  ++counts_.ops;
  const Op& op = events_.ops[index];
  const Queue& queue = events_.queues[op.queue];
  const uint64_t name = op_name(op);
  const bool compute = events_.class_of(op) == OpClass::kKernel;
  const uint64_t kernel = compute ? kernels_.iid(op.name) : 0;

  const Packet stage(stream_, kRenderStage, op.start_ns);
  out_.varint(1, index + 1);
  out_.varint(2, static_cast<uint64_t>(op.duration_ns()));
  out_.varint(5, uint64_t{op.queue} + 1);
  out_.varint(11, static_cast<uint64_t>(gpu_number(events_.device_of(queue))));
  out_.varint(13, uint64_t{op.queue} + 1);
  out_.varint(14, events_.queues.size() + op.type + 1);
  out_.varint(20, name);
  if (kernel != 0) out_.varint(19, kernel);
  const ProtoMessage launch(out_, 21);
  if (op.shape != kNone) out_.raw(shapes_[op.shape]);
  out_.raw(queue_args_[op.queue]);
  if (op.bytes >= 0) compute_arg(out_, bytes_name_, op.bytes);
  if (op.status != 0) compute_arg(out_, status_name_, op.status);
}

}  // namespace sonde::exporting
