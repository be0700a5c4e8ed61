// KFD's ioctls that are newer than the oldest <linux/kfd_ioctl.h> that this builds with (Linux 6.1,
// KFD 1.11), and those that only AMD's own driver package has. Layouts as in the kernel; the names
// are ours, so that they do not collide with newer headers.
#pragma once

#include <cstdint>

namespace softgpu::kfd {

// Ioctl numbers, with the version of the interface (1.x) that introduced them.
constexpr unsigned kAvailableMemory = 0x23, kExportDmabuf = 0x24, kRuntimeEnable = 0x25,
                   kDebugTrap = 0x26;
constexpr uint32_t kSinceAvailableMemory = 9, kSinceExportDmabuf = 12, kSinceDebugger = 13;
// AMD's own: not in Linux and, except for the last, not tied to a version.
constexpr unsigned kIpcImport = 0x80, kIpcExport = 0x81, kOldDebugTrap = 0x82, kPcSample = 0x85;
constexpr uint32_t kSincePcSample = 16;

// For kfd_ioctl_create_queue_args::queue_type, since 1.17.
constexpr uint32_t kQueueSdmaByEngine = 4;
constexpr uint32_t kSinceSdmaByEngine = 17;

struct ExportDmabuf {
  uint64_t handle;
  uint32_t flags;  // as for open()
  uint32_t fd;     // out
};

struct IpcExport {
  uint64_t handle;
  uint32_t share_handle[4];  // out: valid in all processes
  uint32_t gpu_id, flags;
};
struct IpcImport {
  uint64_t handle;  // out
  uint64_t va_addr;
  uint64_t mmap_offset;  // out
  uint32_t share_handle[4];
  uint32_t gpu_id;
  uint32_t flags;  // out
};

enum class PcSampleOp : uint32_t { kQuery, kCreate, kDestroy, kStart, kStop };
enum class PcSampleMethod : uint32_t { kHostTrap = 1, kStochastic };
enum class PcSampleUnit : uint32_t { kMicroseconds, kClockCycles, kInstructions };
// PcSample::flags: including what a session currently excludes.
constexpr uint32_t kPcSampleQueryAll = 1;

struct PcSampleInfo {
  uint64_t interval;
  uint64_t least, most;  // out
  uint64_t flags;        // out
  PcSampleMethod method;
  PcSampleUnit unit;
};

struct PcSample {
  uint64_t info;  // array of `count` PcSampleInfos
  uint32_t count;
  PcSampleOp op;
  uint32_t gpu_id, session, flags, reserved;
};

constexpr uint32_t kRuntimeEnabled = 1, kRuntimeSavesTtmps = 2;  // RuntimeEnable::mode
struct RuntimeEnable {
  uint64_t r_debug;  // for the debugger
  uint32_t mode, capabilities;
};

// What a debugger can be notified of; bit N - 1 of a mask stands for exception N.
enum class Exception : uint32_t {
  kQueueNew = 31,
  kGpuMemoryViolation = 33,
  kGpuNew = 36,
  kProcessRuntime = 48,
};
constexpr uint64_t mask_of(Exception exception) {
  return uint64_t{1} << (static_cast<uint32_t>(exception) - 1);
}

enum class DebugOp : uint32_t {
  kEnable,
  kDisable,
  kSendRuntimeEvent,
  kSetExceptionsEnabled,
  kSetWaveLaunchOverride,
  kSetWaveLaunchMode,
  kSuspendQueues,
  kResumeQueues,
  kSetAddressWatch,
  kClearAddressWatch,
  kSetFlags,
  kQueryEvent,
  kQueryExceptionInfo,
  kQueueSnapshot,
  kDeviceSnapshot,
};

constexpr uint32_t kLaunchHalted = 1;  // DebugTrap::launch.mode of kSetWaveLaunchMode

// Flags in the list of queues to suspend or to resume.
constexpr uint32_t kQueueError = 1u << 30, kQueueInvalid = 1u << 31;

struct RuntimeInfo {
  uint64_t r_debug;
  uint32_t state;  // 0: not enabled, 1: enabled
  uint32_t saves_ttmps;
};

struct QueueSnapshot {
  uint64_t exceptions, ring, write_pointer, read_pointer, save_area;
  uint32_t queue_id, gpu_id, ring_bytes, type, save_area_bytes, reserved;
};

struct DeviceSnapshot {
  uint64_t exceptions, lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
  uint32_t gpu_id, location_id, vendor_id, device_id, revision_id, subsystem_vendor_id,
      subsystem_device_id, fw_version, gfx_target_version, simd_count, max_waves_per_simd,
      array_count, simd_arrays_per_engine, num_xcc, capability, debug_prop;
};

// At the start of a queue's save area; what follows belongs to the runtime.
struct SaveAreaHeader {
  uint32_t control_stack_offset, control_stack_bytes, wave_state_offset, wave_state_bytes;
};

// Follows it: where the runtime wants exceptions of the queue stored, and the event to signal.
struct SaveAreaErrors {
  static constexpr uint32_t kOffset = 24;
  uint64_t payload;
  uint32_t event, reserved;
};

struct DebugTrap {
  uint32_t pid, op;
  union {
    struct {
      uint64_t exceptions, runtime_info;
      uint32_t runtime_info_bytes, fd;
    } enable;
    struct {
      uint64_t exceptions;
      uint32_t gpu_id, queue_id;
    } event;  // kSendRuntimeEvent, kSetExceptionsEnabled, kQueryEvent
    struct {
      uint32_t mode, enable, supported, pad;
    } launch;  // kSetWaveLaunchOverride; kSetWaveLaunchMode and kSetFlags use only the mode
    struct {
      uint64_t exceptions, ids;
      uint32_t count, grace;
    } suspend;
    struct {
      uint64_t ids;
      uint32_t count, pad;
    } resume;
    struct {
      uint64_t address;
      uint32_t mode, mask, gpu_id, id;
    } watch;
    struct {
      uint32_t gpu_id, id;
    } clear_watch;
    struct {
      uint64_t info;
      uint32_t info_bytes, source, exception, clear;
    } query_info;
    struct {
      uint64_t exceptions, buffer;
      uint32_t count, entry_bytes;
    } snapshot;
  };
};

}  // namespace softgpu::kfd
