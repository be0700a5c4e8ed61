// What devices did: render stages, and the slices that stand for operations.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/value_or.h"
#include "importers/perfetto/rows.h"
#include "importers/rocprof/names.h"

namespace sonde::importers {

namespace {

// The number after one of these words in the name of a track: 4 and 2 of "COMPUTE Agent [4] QUEUE
// [2] GPU", 0 and 3 of "GPU Kernel Dispatch [0] Queue 3". -1 if there is none.
int64_t number_after(std::string_view track, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    const size_t at = track.find(word);
    if (at == track.npos) continue;
    const size_t begin = track.find_first_of("0123456789", at + word.size());
    if (begin == track.npos || begin > at + word.size() + 1) continue;
    const size_t end = std::min(track.find_first_not_of("0123456789", begin), track.size());
    return parse_int(track.substr(begin, end - begin)).value_or(-1);
  }
  return -1;
}

bool is_known(const int64_t (&axes)[3]) { return axes[0] > 0; }

// Work items of as many groups.
void set_items(const int64_t (&groups)[3], const int64_t (&group)[3], int64_t (&items)[3]) {
  if (!is_known(groups) || !is_known(group)) return;
  for (int i = 0; i < 3; ++i) {
    if (__builtin_mul_overflow(groups[i], group[i], &items[i])) items[i] = -1;
  }
}

std::string_view backend_of(uint64_t api) {
  return api == 3 ? "opencl" : api == 4 ? "cuda" : api == 5 ? "hip" : "";
}

}  // namespace

void PerfettoRows::stage(const PerfettoStage& stage) {
  Op op;
  op.gpu = stage.device != INT64_MIN ? stage.device : stage.gpu;
  gpu_of_number_[stage.gpu] = op.gpu;
  op.queue = stage.queue;
  op.start_ns = stage.start_ns;
  op.end_ns = stage.end_ns;
  // Sonde writes the type as the stage. Other writers have words of their own for it.
  const std::string_view type = text(stage.type);
  const store::OpClass by_type = store::class_of_type(type);
  const bool is_unknown_type = by_type == store::OpClass::kUnknown && type != "Task";
  op.type = is_unknown_type && (stage.compute || type.empty()) ? sink_.name("KernelExecution")
                                                               : name(stage.type);
  if (stage.name != stage.type) op.name = name(stage.name);
  op.args = stage.args;
  Launch launch;
  launch.op = sink_.op(op);
  launch.api = value_or(api_of_stage_, stage.event);
  if (stage.pid >= 0) launch.process = sink_.process(model_.tracks.real_pid(stage.pid));
  launch.name = op.name;
  launch.op_class = store::class_of_op(
      is_unknown_type && stage.compute ? store::OpClass::kKernel : by_type, op.name != 0);
  launch.bytes = stage.bytes;
  launch.status = stage.status;
  launch.group_segment_bytes = stage.group_segment_bytes;
  launch.private_segment_bytes = stage.private_segment_bytes;
  std::copy_n(stage.group, 3, launch.group);
  std::copy_n(stage.items, 3, launch.grid);
  if (!is_known(launch.grid)) set_items(stage.groups, stage.group, launch.grid);
  sink_.launch(launch);
  tally_.count("render stages");
}

std::string_view PerfettoRows::type_of(Kind kind, const PerfettoOpFacts& facts,
                                       std::string_view name) const {
  if (kind == Kind::kOperation && (facts.kernel_id >= 0 || facts.dispatch >= 0)) {
    kind = Kind::kKernel;
  }
  if (kind == Kind::kKernel) return "KernelExecution";
  if (kind == Kind::kCopy || name.find("MEMORY_COPY") != name.npos) {
    return store::moves_memory(store::class_of_type(name)) ? name : memory_op_type(name);
  }
  return name;
}

void PerfettoRows::place_op(const PerfettoOpFacts& facts, std::string_view track, Op& op,
                            std::string_view type) const {
  const bool moves = store::moves_memory(store::class_of_type(type));
  op.gpu = facts.gpu;
  // A copy to the host is work of the GPU that it comes from.
  if (facts.source_gpu >= 0 && type == "CopyDeviceToHost") op.gpu = facts.source_gpu;
  if (op.gpu < 0) {
    op.gpu = number_after(track, {"Dispatch ", "Agent ", "AGENT ", "COMPUTE GPU ", "GPU "});
  }
  op.gpu = std::max<int64_t>(op.gpu, 0);
  op.queue = facts.has_device && facts.has_stream ? facts.stream : facts.queue;
  if (op.queue < 0) op.queue = number_after(track, {"Queue ", "QUEUE "});
  if (op.queue >= 0) return;
  // A copy engine, which the file does not name.
  op.queue = moves ? -1 : std::max<int64_t>(facts.stream, 0);
}

void PerfettoRows::slice_op(size_t index) {
  const SliceOp& one = slice_ops_[index];
  const PerfettoEvent& event = model_.events[one.slice.event];
  const PerfettoOpFacts& facts = model_.facts_of(event);
  const std::string_view title = text(event.name);
  const Kind kind = perfetto_category(text(event.category)).kind;
  const std::string_view type = type_of(kind, facts, title);
  const store::OpClass by_type = store::class_of_type(type);

  Op op;
  const bool sondes_own = facts.has_device && facts.has_stream;
  place_op(facts, text(model_.tracks.at(one.track).name), op, type);
  op.start_ns = one.slice.start_ns;
  op.end_ns = one.slice.end_ns;
  op.type = sink_.name(type);
  if (by_type == store::OpClass::kKernel && title != type) {
    op.name = facts.mangled_name.empty() ? name(event.name) : sink_.name(facts.mangled_name);
  }
  if (!sondes_own) op.args = arguments(model_.detail_of(event));
  Launch launch;
  launch.op = sink_.op(op);
  launch.api = value_or(api_of_op_, index);
  const int64_t pid = model_.tracks.only_pid();
  if (pid != 0) launch.process = sink_.process(pid);
  launch.name = op.name;
  launch.op_class = store::class_of_op(by_type, op.name != 0);
  launch.bytes = facts.bytes;
  if (!sondes_own) launch.stream = stream_unless_0(facts.stream);
  launch.group_segment_bytes = facts.group_segment_bytes;
  launch.private_segment_bytes = facts.private_segment_bytes;
  std::copy_n(facts.group, 3, launch.group);
  if (facts.grid_in_groups) {
    set_items(facts.grid, facts.group, launch.grid);
  } else {
    std::copy_n(facts.grid, 3, launch.grid);
  }
  sink_.launch(launch);
  tally_.count("operations");
}

void PerfettoRows::gpus() {
  for (const auto& [number, said] : model_.gpus) {
    if (said.name == "(no operations recorded)") continue;  // a gap that Sonde had to fill
    Device device;
    device.gpu = value_or(gpu_of_number_, number, number);
    device.name = said.name;
    device.vendor = said.vendor;
    device.kind = "gpu";
    device.backend = backend_of(value_or(model_.backends, number));
    sink_.device(device);
  }
}

void PerfettoRows::counters() {
  const auto sample = [&](std::string_view device_type, std::string_view type, int64_t device,
                          int64_t time_ns, double value) {
    sink_.sample({device_type, type, fmt::format("{}", value), device, time_ns, time_ns});
  };
  for (const PerfettoGpuCounter& one : model_.gpu_counters) {
    sample("gpu", text(one.name), one.gpu, one.time_ns, one.value);
    tally_.count("GPU counter values");
  }
  for (const PerfettoCounter& one : model_.counters) {
    if (!std::isfinite(one.value)) {
      tally_.skip("counter values that are not finite numbers", path_);
      continue;
    }
    tally_.count("counter values");
    const PerfettoTrack& track = model_.tracks.at(one.track);
    const PerfettoTracks::Place place = model_.tracks.place(one.track);
    const std::string_view title = text(track.name);
    // "gpu 0 temperature", of no process: a value of a device, as Sonde writes it.
    const size_t first = title.find(' ');
    const size_t second = first == title.npos ? first : title.find(' ', first + 1);
    if (!place.process && second != title.npos) {
      if (const auto device = parse_int(title.substr(first + 1, second - first - 1))) {
        sample(title.substr(0, first), title.substr(second + 1), *device, one.time_ns, one.value);
        continue;
      }
    }
    sink_.counter({sink_.process(place.pid), place.thread ? place.tid : 0, one.time_ns,
                   name(track.name), one.value});
  }
}

}  // namespace sonde::importers
