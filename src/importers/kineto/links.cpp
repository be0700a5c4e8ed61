#include "importers/kineto/links.h"

#include <algorithm>
#include <iterator>

#include "base/strings.h"
#include "store/launch_unit.h"

namespace sonde::importers {

namespace {

constexpr int64_t kNone = LaunchArgs::kNone;

int64_t or_unknown(int64_t value) { return value < 0 ? -1 : value; }

store::OpClass class_of(Category category) {
  switch (category) {
    case Category::kMemcpy:
      return store::OpClass::kCopy;
    case Category::kMemset:
      return store::OpClass::kFill;
    case Category::kGpuOp:
      return store::OpClass::kOther;
    default:
      return store::OpClass::kKernel;
  }
}

}  // namespace

void LaunchLinks::call(std::string_view name, const LaunchArgs& args, int64_t pid, const Api& row,
                       int64_t api) {
  if (starts_with_any(name, {"hip"})) is_amd_ = true;
  if (args.correlation == kNone) return;
  const auto id = static_cast<int64_t>(calls_.size());
  table_.add({pid, args.correlation, row.start_ns, row.end_ns, id});
  Call& call = calls_.emplace_back(Call{api, row.process, -1, {}});
  if (store::counts_work_items(name)) call.unit = GridUnit::kWorkItems;
  if (args.grid[0] == kNone && args.bytes == kNone && args.shared_bytes == kNone) return;
  call.facts = static_cast<int32_t>(facts_.size());
  Facts& facts = facts_.emplace_back();
  std::copy(std::begin(args.grid), std::end(args.grid), facts.grid);
  std::copy(std::begin(args.block), std::end(args.block), facts.block);
  facts.bytes = args.bytes;
  facts.shared_bytes = args.shared_bytes;
}

void LaunchLinks::op(const LaunchArgs& args, Category category, int64_t pid, const Op& row,
                     int64_t op) {
  ++ops_;
  if (args.kind.substr(0, 8) == "Dispatch") is_amd_ = true;  // only AMD's say so
  if ((wants_.others || wants_.devices) && args.device != kNone && args.stream != kNone &&
      queues_.emplace(args.device, args.stream).second) {
    sink_.queue({0,
                 args.device,
                 args.stream,
                 {},
                 args.context == kNone ? std::nullopt : std::optional(args.context)});
  }
  if (!wants_.op_details) return;
  const auto next = static_cast<uint32_t>(tracks_.size());
  const uint32_t track = tracks_.try_emplace({pid, row.gpu}, next).first->second;
  waiting_.push_back({args, category, row.name, op, row.start_ns, track});
  // What comes after so many operations is hardly another process, and memory stays bounded.
  if (waiting_.size() >= kRoom && table_.processes().size() == 1) link_known();
}

void LaunchLinks::link_known() {
  const int64_t process = table_.processes().front();
  size_t rest = 0;
  for (const Waiting& op : waiting_) {
    const auto* const launcher = table_.call(process, op.args.correlation, op.start_ns);
    if (op.args.correlation != kNone && launcher == nullptr && rest < kRoom / 2) {
      waiting_[rest++] = op;
    } else {
      link(op, launcher);
    }
  }
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(rest), waiting_.end());
}

void LaunchLinks::link(const Waiting& op, const CallTable::Call* launcher) {
  const LaunchArgs& args = op.args;
  const Call* const call =
      launcher == nullptr ? nullptr : &calls_[static_cast<size_t>(launcher->id)];
  const Facts* facts =
      call != nullptr && call->facts >= 0 ? &facts_[static_cast<size_t>(call->facts)] : nullptr;
  Launch launch;
  launch.op = op.op;
  launch.name = op.name;
  launch.op_class = class_of(op.category);
  launch.queued_ns = args.queued_ns;
  launch.submitted_ns = args.submitted_ns;
  launch.bytes = or_unknown(args.bytes == kNone && facts != nullptr ? facts->bytes : args.bytes);
  launch.private_segment_bytes = or_unknown(args.private_bytes);
  launch.status = args.status == kNone ? 0 : args.status;
  launch.process = args.process;
  launch.group_segment_bytes = or_unknown(
      args.shared_bytes == kNone && facts != nullptr ? facts->shared_bytes : args.shared_bytes);
  if (call != nullptr) {
    launch.api = call->api;
    launch.process = call->process;
  } else {
    ++unlinked_;
  }
  const bool own = args.grid[0] != kNone;
  const int64_t* grid = own || facts == nullptr ? args.grid : facts->grid;
  const int64_t* block = own || facts == nullptr ? args.block : facts->block;
  // Without the call an AMD grid may be in groups or in work items.
  const bool unit_known = !is_amd_ || call != nullptr;
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = or_unknown(args.items[i]);
    if (block[i] == kNone) continue;
    launch.group[i] = block[i];
    if (launch.grid[i] >= 0 || grid[i] == kNone || !unit_known) continue;
    const bool in_groups = call == nullptr || call->unit == GridUnit::kGroups;
    if (__builtin_mul_overflow(grid[i], in_groups ? block[i] : 1, &launch.grid[i])) {
      launch.grid[i] = -1;
    }
  }
  sink_.launch(launch);
}

void LaunchLinks::link_by_track(const std::function<std::string(int64_t pid)>& label,
                                Tally& tally) {
  std::vector<std::string> tracks(tracks_.size()), processes;
  for (const auto& [place, track] : tracks_) tracks[track] = label(place.first);
  for (const int64_t pid : table_.processes()) {
    processes.push_back(label(pid) + " " + std::to_string(pid));
  }
  std::vector<TrackedOp> ops;
  for (const Waiting& op : waiting_) ops.push_back({op.track, op.args.correlation, op.start_ns});
  const Launchers launchers = who_launched(table_, ops, tracks, processes);
  for (size_t i = 0; i < waiting_.size(); ++i) link(waiting_[i], launchers.calls[i]);
  if (launchers.guessed_tracks == 0) return;
  tally.remark(format_count(processes.size()) +
               " processes use the same correlation numbers, and the file does not say whose " +
               format_count(launchers.guessed_tracks) +
               " GPUs are: they are given to the processes in the order of the file");
}

void LaunchLinks::finish(const std::function<std::string(int64_t pid)>& label, Tally& tally) {
  if (table_.processes().size() > 1) {
    link_by_track(label, tally);
  } else {
    const int64_t process = table_.empty() ? 0 : table_.processes().front();
    for (const Waiting& op : waiting_) {
      link(op, table_.call(process, op.args.correlation, op.start_ns));
    }
  }
  waiting_.clear();
  if (unlinked_ == 0) return;
  if (table_.empty()) {
    tally.remark("the file has no launching calls, only GPU operations");
  } else {
    tally.remark(format_count(unlinked_) + " of " + format_count(ops_) +
                 " GPU operations have no launching call in the file: they were launched before "
                 "the recording began");
  }
}

namespace {

bool all_equal(const std::vector<Frame::Device>& devices) {
  for (const Frame::Device& device : devices) {
    const Frame::Device& first = devices.front();
    if (device.name != first.name || device.memory_bytes != first.memory_bytes ||
        device.compute_units != first.compute_units) {
      return false;
    }
  }
  return !devices.empty();
}

}  // namespace

// AMD's operations have the number of the HSA agent, which counts CPUs too, and the devices have
// HIP's number: which is which can be told only if they are all the same.
void LaunchLinks::describe_devices(const Frame& frame) {
  const bool amd = is_amd_ || (frame.is_amd && !frame.is_nvidia);
  const bool same_numbers = !amd || frame.own_numbers;
  const auto describe = [&](int64_t gpu, const Frame::Device* known) {
    Device device;
    device.gpu = gpu;
    device.kind = "gpu";
    device.backend = amd ? "hip" : (frame.is_nvidia ? "cuda" : "");
    device.vendor = amd ? "AMD" : (frame.is_nvidia ? "NVIDIA" : "");
    if (known != nullptr) {
      device.name = known->name;
      device.memory_bytes = known->memory_bytes;
      device.compute_units = known->compute_units;
    }
    sink_.device(device);
  };
  if (same_numbers) {
    for (const Frame::Device& device : frame.devices) describe(device.id, &device);
    return;
  }
  std::set<int64_t> used;
  for (const auto& [device, stream] : queues_) used.insert(device);
  const Frame::Device* known = all_equal(frame.devices) ? &frame.devices.front() : nullptr;
  for (const int64_t gpu : used) describe(gpu, known);
}

}  // namespace sonde::importers
