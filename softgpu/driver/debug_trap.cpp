#include "driver/debug_trap.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "config/models.h"
#include "driver/apertures.h"
#include "driver/log.h"
#include "tree/layout.h"

namespace softgpu {
namespace {

using kfd::DebugOp;

constexpr uint32_t kRuntimeIsEnabled = 1;
constexpr uint32_t kWatches = 4;  // of each GPU, as its capability reports

kfd::RuntimeInfo runtime_info(const DebugLayout& process) {
  return {process.r_debug, process.runtime_state, process.saves_ttmps};
}

// Copies as much of `value` as there is room for; `bytes` becomes the full size.
template <typename T>
void give(uint64_t to, uint32_t& bytes, const T& value) {
  std::memcpy(reinterpret_cast<void*>(to), &value, std::min<size_t>(bytes, sizeof value));
  bytes = sizeof value;
}

int enable(DebugLayout& process, kfd::DebugTrap& a) {
  if (process.debugger != 0) return EINVAL;
  if (fcntl(static_cast<int>(a.enable.fd), F_GETFD) < 0) return EBADF;
  process.notifier = static_cast<int32_t>(a.enable.fd);
  process.reported = a.enable.exceptions;
  process.debugger = getpid();
  give(a.enable.runtime_info, a.enable.runtime_info_bytes, runtime_info(process));
  return 0;
}

int disable(DebugLayout& process) {
  for (DebuggedQueue& queue : process.queues) queue.suspended = 0;
  process.reported = 0;
  process.launch_mode = 0;
  for (auto& watches : process.watches) watches = 0;
  process.debugger = 0;
  DebugState::tell(process.requests);
  return 0;
}

// Writes the header of a save area that the process itself cannot write: no waves.
// none.
void write_header(pid_t pid, const DebuggedQueue& queue) {
  if (queue.save_area == 0) return;
  const kfd::SaveAreaHeader header{queue.control_stack_bytes, 0, queue.control_stack_bytes, 0};
  const std::string memory = "/proc/" + std::to_string(pid) + "/mem";
  const int fd = ::open(memory.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (pwrite(fd, &header, sizeof header, static_cast<off_t>(queue.save_area)) < 0) {
    log(2, "the save area of process %d cannot be written", pid);
  }
  ::close(fd);
}

// Changes each existing queue of the list; returns their number, negated.
int change_queues(DebugState& state, uint64_t list, uint32_t count, pid_t pid, bool suspend,
                  uint64_t cleared) {
  DebugLayout& process = *state.operator->();
  const std::span<uint32_t> ids(reinterpret_cast<uint32_t*>(list), count);
  std::vector<uint32_t> known;
  for (uint32_t& id : ids) {
    id &= ~(kfd::kQueueInvalid | kfd::kQueueError);
    const bool exists = id < DebugLayout::kQueues && process.queues[id].exists != 0;
    // The debugger has not seen a new queue in a snapshot yet.
    if (!exists || (suspend && (process.queues[id].exceptions &
                                kfd::mask_of(kfd::Exception::kQueueNew) & ~cleared) != 0)) {
      id |= kfd::kQueueInvalid;
      continue;
    }
    process.queues[id].exceptions &= ~cleared;
    process.queues[id].suspended = suspend ? 1 : 0;
    known.push_back(id);
  }
  DebugState::tell(process.requests);
  for (const uint32_t id : known) {
    if (state.wait_for_waves(process.queues[id], pid) || !suspend) continue;
    log(1, "a debugger cannot see the waves of queue %u of process %d, which is stopped", id, pid);
    write_header(pid, process.queues[id]);
  }
  return -static_cast<int>(known.size());
}

int query_event(const Driver& driver, DebugLayout& process, kfd::DebugTrap& a) {
  const uint64_t cleared = a.event.exceptions, wanted = process.reported;
  const auto found = [&](std::atomic<uint64_t>& status, uint32_t gpu, uint32_t queue) {
    if ((status & wanted) == 0) return false;
    a.event.exceptions = status;
    a.event.gpu_id = gpu;
    a.event.queue_id = queue;
    status &= ~cleared;
    return true;
  };
  for (uint32_t id = 0; id < DebugLayout::kQueues; ++id) {
    DebuggedQueue& queue = process.queues[id];
    if (queue.exists != 0 && found(queue.exceptions, queue.gpu_id, id)) return 0;
  }
  for (uint32_t gpu = 0; gpu < driver.config().gpus.size(); ++gpu) {
    if (found(process.gpu_exceptions[gpu], gpu_id(gpu), 0)) return 0;
  }
  return found(process.exceptions, 0, 0) ? 0 : EAGAIN;
}

int query_info(DebugLayout& process, kfd::DebugTrap& a) {
  const auto exception = static_cast<kfd::Exception>(a.query_info.exception);
  if (exception != kfd::Exception::kProcessRuntime) return ENODATA;
  if ((process.exceptions & kfd::mask_of(exception)) == 0) return ENODATA;
  give(a.query_info.info, a.query_info.info_bytes, runtime_info(process));
  if (a.query_info.clear != 0) process.exceptions &= ~kfd::mask_of(exception);
  return 0;
}

kfd::QueueSnapshot snapshot_of(const DebuggedQueue& queue, uint32_t id) {
  return {.exceptions = queue.exceptions,
          .ring = queue.ring,
          .write_pointer = queue.write_pointer,
          .read_pointer = queue.read_pointer,
          .save_area = queue.save_area,
          .queue_id = id,
          .gpu_id = queue.gpu_id,
          .ring_bytes = queue.ring_bytes,
          .type = queue.type,
          .save_area_bytes = queue.save_area_bytes,
          .reserved = 0};
}

kfd::DeviceSnapshot snapshot_of(const Config& config, uint32_t gpu, uint64_t exceptions) {
  const GpuConfig& own = config.gpus[gpu];
  const Model& model = model_of(own);
  return {.exceptions = exceptions,
          .lds_base = kApertures.lds_base,
          .lds_limit = kApertures.lds_limit,
          .scratch_base = kApertures.scratch_base,
          .scratch_limit = kApertures.scratch_limit,
          .gpuvm_base = kApertures.gpuvm_base,
          .gpuvm_limit = kApertures.gpuvm_limit,
          .gpu_id = gpu_id(gpu),
          .location_id = own.pci_bus << 8,
          .vendor_id = 0x1002,
          .device_id = own.device_id,
          .revision_id = own.revision,
          .subsystem_vendor_id = 0x1002,
          .subsystem_device_id = 0x0b0c,
          .fw_version = kFirmwareVersion,
          .gfx_target_version = own.gfx_version,
          .simd_count = own.compute_units * model.family.simds_per_unit,
          .max_waves_per_simd = model.family.waves_per_simd,
          .array_count = model.shader_engines * model.family.arrays_per_engine,
          .simd_arrays_per_engine = model.family.arrays_per_engine,
          .num_xcc = model.accelerator_dies,
          .capability = kfd_capability(model),
          .debug_prop = kfd_debug_properties(model)};
}

// Adds an entry to a snapshot, if there is room; clears the exceptions that it shows.
template <typename Entry>
void add_entry(kfd::DebugTrap& a, uint32_t room, uint32_t stride, const Entry& entry,
               std::atomic<uint64_t>& exceptions) {
  if (a.snapshot.count < room) {
    std::memcpy(reinterpret_cast<char*>(a.snapshot.buffer) + size_t{a.snapshot.count} * stride,
                &entry, std::min<size_t>(stride, sizeof entry));
    exceptions &= ~a.snapshot.exceptions;
  }
  ++a.snapshot.count;
  a.snapshot.entry_bytes = std::min<uint32_t>(stride, sizeof entry);
}

int take_snapshot(const Driver& driver, DebugLayout& process, kfd::DebugTrap& a, bool of_queues) {
  const uint32_t room = a.snapshot.count, stride = a.snapshot.entry_bytes;
  if (stride == 0) return EINVAL;
  a.snapshot.count = 0;
  for (uint32_t id = 0; of_queues && id < DebugLayout::kQueues; ++id) {
    DebuggedQueue& queue = process.queues[id];
    if (queue.exists == 0) continue;
    add_entry(a, room, stride, snapshot_of(queue, id), queue.exceptions);
  }
  for (uint32_t gpu = 0; !of_queues && gpu < driver.config().gpus.size(); ++gpu) {
    std::atomic<uint64_t>& exceptions = process.gpu_exceptions[gpu];
    add_entry(a, room, stride, snapshot_of(driver.config(), gpu, exceptions), exceptions);
  }
  return 0;
}

int set_watch(const Driver& driver, DebugLayout& process, kfd::DebugTrap& a) {
  const auto gpu = gpu_of_id(a.watch.gpu_id, driver.config().gpus.size());
  if (!gpu) return ENODEV;
  log(1, "a debugger's watchpoints never trigger");
  for (uint32_t id = 0; id < kWatches; ++id) {
    if ((process.watches[*gpu].fetch_or(1u << id) >> id & 1) != 0) continue;
    a.watch.id = id;
    return 0;
  }
  return ENOMEM;
}

int clear_watch(const Driver& driver, DebugLayout& process, const kfd::DebugTrap& a) {
  const auto gpu = gpu_of_id(a.clear_watch.gpu_id, driver.config().gpus.size());
  if (!gpu) return ENODEV;
  const uint32_t bit = a.clear_watch.id < kWatches ? 1u << a.clear_watch.id : 0;
  return (process.watches[*gpu].fetch_and(~bit) & bit) != 0 ? 0 : EINVAL;
}

int send_runtime_event(DebugLayout& process, const kfd::DebugTrap& a) {
  if ((a.event.exceptions & kfd::mask_of(kfd::Exception::kProcessRuntime)) != 0) {
    ++process.runtime_may_go_on;
  }
  constexpr uint64_t kOfQueues = kfd::mask_of(kfd::Exception::kQueueNew) * 2 - 1;
  const uint64_t passed_on = a.event.exceptions & kOfQueues;
  if (passed_on == 0) return 0;
  if (a.event.queue_id >= DebugLayout::kQueues) return EINVAL;
  process.queues[a.event.queue_id].to_runtime |= passed_on;
  DebugState::tell(process.requests);
  return 0;
}

int set_override(DebugLayout& process, kfd::DebugTrap& a) {
  constexpr uint32_t kSupported = 0xff;  // all but wave start and end
  a.launch.supported &= kSupported;
  if ((a.launch.enable & ~kSupported) != 0) return EACCES;
  const uint32_t before = process.trap_mask;
  process.trap_mask = a.launch.mode == 0 ? before | a.launch.enable : a.launch.enable;
  a.launch.enable = before;
  return 0;
}

// These operations need an enabled runtime: they change what the hardware does.
bool changes_hardware(DebugOp op) {
  return op == DebugOp::kSetWaveLaunchOverride || op == DebugOp::kSetWaveLaunchMode ||
         op == DebugOp::kSuspendQueues || op == DebugOp::kResumeQueues ||
         op == DebugOp::kSetAddressWatch || op == DebugOp::kClearAddressWatch;
}

int answer(Driver& driver, DebugState& state, kfd::DebugTrap& a) {
  DebugLayout& process = *state.operator->();
  const auto pid = static_cast<pid_t>(a.pid);
  switch (static_cast<DebugOp>(a.op)) {
    case DebugOp::kEnable:
      return enable(process, a);
    case DebugOp::kDisable:
      return disable(process);
    case DebugOp::kSendRuntimeEvent:
      return send_runtime_event(process, a);
    case DebugOp::kSetExceptionsEnabled:
      process.reported = a.event.exceptions;
      return 0;
    case DebugOp::kSetWaveLaunchOverride:
      return set_override(process, a);
    case DebugOp::kSetWaveLaunchMode:
      process.launch_mode = a.launch.mode;
      return 0;
    case DebugOp::kSuspendQueues:
      return change_queues(state, a.suspend.ids, a.suspend.count, pid, true, a.suspend.exceptions);
    case DebugOp::kResumeQueues:
      return change_queues(state, a.resume.ids, a.resume.count, pid, false, 0);
    case DebugOp::kSetAddressWatch:
      return set_watch(driver, process, a);
    case DebugOp::kClearAddressWatch:
      return clear_watch(driver, process, a);
    case DebugOp::kSetFlags:
      a.launch.mode = process.flags.exchange(a.launch.mode);
      return 0;
    case DebugOp::kQueryEvent:
      return query_event(driver, process, a);
    case DebugOp::kQueryExceptionInfo:
      return query_info(process, a);
    case DebugOp::kQueueSnapshot:
      return take_snapshot(driver, process, a, true);
    case DebugOp::kDeviceSnapshot:
      return take_snapshot(driver, process, a, false);
  }
  return EINVAL;
}

}  // namespace

int debug_trap(Driver& driver, kfd::DebugTrap& a) {
  const auto pid = static_cast<pid_t>(a.pid);
  const auto op = static_cast<DebugOp>(a.op);
  const bool own = pid == getpid(), traced = own || traces(pid);
  const auto process = DebugState::of(driver.config().tree, pid, op == DebugOp::kEnable && traced);
  if (!process) return ESRCH;
  if (!traced && op != DebugOp::kDisable) return EPERM;
  if (op != DebugOp::kEnable && !process->is_debugged()) return EINVAL;
  if (changes_hardware(op) && (*process)->runtime_state != kRuntimeIsEnabled) return EACCES;
  return answer(driver, *process, a);
}

}  // namespace softgpu
