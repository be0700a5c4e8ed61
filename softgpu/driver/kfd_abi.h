// KFD's ioctls that are newer than the oldest <linux/kfd_ioctl.h> this is built with (Linux 6.1,
// KFD 1.11), and those that only AMD's own driver package has. Layouts as in the kernel; names are
// ours, so that they do not collide with a newer header's.
#pragma once

#include <cstdint>

namespace softgpu::kfd {

// Numbers of ioctls, and from which version of the interface (1.x) on they are there.
constexpr unsigned kAvailableMemory = 0x23, kExportDmabuf = 0x24, kRuntimeEnable = 0x25,
                   kDebugTrap = 0x26;
constexpr uint32_t kSinceAvailableMemory = 9, kSinceExportDmabuf = 12, kSinceDebugger = 13;
// AMD's own: not in Linux, in no version's count.
constexpr unsigned kIpcImport = 0x80, kIpcExport = 0x81, kOldDebugTrap = 0x82;

constexpr uint32_t kQueueSdmaByEngine = 4;  // kfd_ioctl_create_queue_args::queue_type, since 1.17
constexpr uint32_t kSinceSdmaByEngine = 17;

struct ExportDmabuf {
  uint64_t handle;
  uint32_t flags;  // those of open()
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

constexpr uint32_t kRuntimeEnabled = 1, kRuntimeSavesTtmps = 2;  // RuntimeEnable::mode
struct RuntimeEnable {
  uint64_t r_debug;  // of the process, for the debugger
  uint32_t mode, capabilities;
};

}  // namespace softgpu::kfd
