#include "driver/kfd.h"

#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/time.h"
#include "driver/apertures.h"
#include "driver/debug_trap.h"
#include "driver/kfd_abi.h"
#include "driver/kfd_parts.h"
#include "driver/log.h"
#include "driver/pc_sampling.h"
#include "tree/layout.h"

namespace softgpu {
namespace {

// DRM's way to say "not zero, and no file can be mapped there". libhsakmt sets an event's slot in
// the events page only if the returned offset is not 0.
constexpr uint64_t kEventPageOffset = uint64_t{2} << 62;

int get_version(Driver& driver, kfd_ioctl_get_version_args& a) {
  a.major_version = 1;
  a.minor_version = driver.config().kfd_minor;
  return 0;
}

int get_clock_counters(Driver& driver, kfd_ioctl_get_clock_counters_args& a) {
  const auto gpu = gpu_of_id(a.gpu_id, driver.config().gpus.size());
  // Also called for the CPU's node, for the other clocks. ROCr uses these readings to relate the
  // clocks: takes the best of several, since a thread may be preempted between two of them. A
  // device clock is a function of CLOCK_MONOTONIC.
  constexpr int kTries = 10;
  constexpr int64_t kGoodNs = 1000;
  int64_t best_ns = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kTries && best_ns > kGoodNs; ++i) {
    const int64_t before = sonde::monotonic_now_ns();
    const int64_t raw = sonde::clock_ns(CLOCK_MONOTONIC_RAW);
    const int64_t boot = sonde::clock_ns(CLOCK_BOOTTIME);
    const int64_t took_ns = sonde::monotonic_now_ns() - before;
    if (took_ns >= best_ns) continue;
    best_ns = took_ns;
    const int64_t middle = before + took_ns / 2;
    a.gpu_clock_counter = gpu ? device_ticks_at(driver.config().gpus[*gpu].clock, middle) : 0;
    a.cpu_clock_counter = static_cast<uint64_t>(raw);
    a.system_clock_counter = static_cast<uint64_t>(boot);
  }
  a.system_clock_freq = 1'000'000'000;
  return 0;
}

int get_apertures(Driver& driver, kfd_ioctl_get_process_apertures_new_args& a) {
  const auto gpus = static_cast<uint32_t>(driver.config().gpus.size());
  auto* list = reinterpret_cast<kfd_process_device_apertures*>(a.kfd_process_device_apertures_ptr);
  if (list == nullptr || a.num_of_nodes == 0) {
    a.num_of_nodes = gpus;
    return 0;
  }
  a.num_of_nodes = std::min(a.num_of_nodes, gpus);
  for (uint32_t gpu = 0; gpu < a.num_of_nodes; ++gpu) {
    list[gpu] = {.lds_base = kApertures.lds_base,
                 .lds_limit = kApertures.lds_limit,
                 .scratch_base = kApertures.scratch_base,
                 .scratch_limit = kApertures.scratch_limit,
                 .gpuvm_base = kApertures.gpuvm_base,
                 .gpuvm_limit = kApertures.gpuvm_limit,
                 .gpu_id = gpu_id(gpu)};
  }
  return 0;
}

int create_event(Driver& driver, kfd_ioctl_create_event_args& a) {
  const uint32_t id = driver.events().create(a.event_type, a.auto_reset != 0);
  if (id == 0) return ENOSPC;
  a.event_id = a.event_trigger_data = id;
  a.event_slot_index = 0;
  if (id < Events::kSlots) {
    a.event_slot_index = id;
    a.event_page_offset = kEventPageOffset;
  }
  return 0;
}

int wait_events(Driver& driver, kfd_ioctl_wait_events_args& a) {
  auto* events = reinterpret_cast<kfd_event_data*>(a.events_ptr);
  bool complete = false;
  const int error =
      driver.events().wait({events, a.num_events}, a.wait_for_all != 0, a.timeout, complete);
  a.wait_result = complete ? KFD_IOC_WAIT_RESULT_COMPLETE : KFD_IOC_WAIT_RESULT_TIMEOUT;
  return error;
}

int set_trap_handler(Driver& driver, const kfd_ioctl_set_trap_handler_args& a) {
  const auto gpu = gpu_of_id(a.gpu_id, driver.config().gpus.size());
  if (!gpu) return EINVAL;
  return driver.set_trap_handler(*gpu, {.code = a.tba_addr, .memory = a.tma_addr}) ? 0 : EINVAL;
}

int tile_config(Driver&, kfd_ioctl_get_tile_config_args& a) {
  a.num_tile_configs = a.num_macro_tile_configs = 0;
  a.gb_addr_config = 0x2a114042;
  a.num_banks = 4;
  a.num_ranks = 1;
  return 0;
}

int open_smi(Driver& driver, kfd_ioctl_smi_events_args& a) {
  const auto gpu = gpu_of_id(a.gpuid, driver.config().gpus.size());
  if (!gpu) return EINVAL;
  int fd = -1;
  const int error = driver.smi().open(*gpu, fd);
  a.anon_fd = static_cast<uint32_t>(fd);
  return error;
}

int pc_sample(Driver& driver, kfd::PcSample& a) {
  const auto gpu = gpu_of_id(a.gpu_id, driver.config().gpus.size());
  return gpu ? driver.pc_sampling(*gpu).answer(a) : EINVAL;
}

int found(bool known) { return known ? 0 : EINVAL; }

int event_ioctl(Driver& driver, unsigned number, void* p) {
  switch (number) {
    case _IOC_NR(AMDKFD_IOC_CREATE_EVENT):
      return create_event(driver, as<kfd_ioctl_create_event_args>(p));
    case _IOC_NR(AMDKFD_IOC_DESTROY_EVENT):
      return found(driver.events().destroy(as<kfd_ioctl_destroy_event_args>(p).event_id));
    case _IOC_NR(AMDKFD_IOC_SET_EVENT):
      return found(driver.events().set(as<kfd_ioctl_set_event_args>(p).event_id));
    case _IOC_NR(AMDKFD_IOC_RESET_EVENT):
      return found(driver.events().reset(as<kfd_ioctl_reset_event_args>(p).event_id));
    case _IOC_NR(AMDKFD_IOC_WAIT_EVENTS):
      return wait_events(driver, as<kfd_ioctl_wait_events_args>(p));
    default:
      return -1;
  }
}

int other_ioctl(Driver& driver, unsigned number, void* p) {
  switch (number) {
    case _IOC_NR(AMDKFD_IOC_GET_VERSION):
      return get_version(driver, as<kfd_ioctl_get_version_args>(p));
    case _IOC_NR(AMDKFD_IOC_CREATE_QUEUE):
      return driver.create_queue(as<kfd_ioctl_create_queue_args>(p));
    case _IOC_NR(AMDKFD_IOC_DESTROY_QUEUE):
      return driver.destroy_queue(as<kfd_ioctl_destroy_queue_args>(p).queue_id);
    case _IOC_NR(AMDKFD_IOC_GET_CLOCK_COUNTERS):
      return get_clock_counters(driver, as<kfd_ioctl_get_clock_counters_args>(p));
    case _IOC_NR(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW):
      return get_apertures(driver, as<kfd_ioctl_get_process_apertures_new_args>(p));
    case _IOC_NR(AMDKFD_IOC_GET_TILE_CONFIG):
      return tile_config(driver, as<kfd_ioctl_get_tile_config_args>(p));
    case _IOC_NR(AMDKFD_IOC_ACQUIRE_VM):  // no-ops: these do not affect results
    case _IOC_NR(AMDKFD_IOC_SET_MEMORY_POLICY):
    case _IOC_NR(AMDKFD_IOC_UPDATE_QUEUE):
    case _IOC_NR(AMDKFD_IOC_SET_SCRATCH_BACKING_VA):
    case _IOC_NR(AMDKFD_IOC_SET_CU_MASK):
      return 0;
    case _IOC_NR(AMDKFD_IOC_ALLOC_QUEUE_GWS):  // resources belong to the device (isa/global_sync.h)
      as<kfd_ioctl_alloc_queue_gws_args>(p).first_gws = 0;
      return 0;
    case _IOC_NR(AMDKFD_IOC_SET_TRAP_HANDLER):
      return set_trap_handler(driver, as<kfd_ioctl_set_trap_handler_args>(p));
    case _IOC_NR(AMDKFD_IOC_SMI_EVENTS):
      return open_smi(driver, as<kfd_ioctl_smi_events_args>(p));
    case kfd::kRuntimeEnable: {
      const auto& a = as<kfd::RuntimeEnable>(p);
      return driver.enable_runtime(a.r_debug, a.mode);
    }
    case kfd::kPcSample:
      return pc_sample(driver, as<kfd::PcSample>(p));
    case kfd::kOldDebugTrap:  // ROCr works without the debugger calls of older drivers
      return EINVAL;
    default:
      return -1;
  }
}

// The first version of the interface (1.x) that has this ioctl.
uint32_t first_version(unsigned number) {
  switch (number) {
    case kfd::kAvailableMemory:
      return kfd::kSinceAvailableMemory;
    case kfd::kExportDmabuf:
      return kfd::kSinceExportDmabuf;
    case kfd::kRuntimeEnable:
    case kfd::kDebugTrap:
      return kfd::kSinceDebugger;
    case kfd::kPcSample:
      return kfd::kSincePcSample;
    default:
      return 0;
  }
}

}  // namespace

int kfd_ioctl(Driver& driver, unsigned long request, void* arguments) {
  const unsigned number = _IOC_NR(request);
  if (driver.config().kfd_minor < first_version(number)) {
    log(2, "KFD's ioctl %#x is newer than version 1.%u", number, driver.config().kfd_minor);
    return EINVAL;
  }
  if (number == kfd::kDebugTrap) {
    auto& trap = as<kfd::DebugTrap>(arguments);
    const int answer = debug_trap(driver, trap);
    log(3, "KFD's DBG_TRAP %u: %d", trap.op, -answer);
    return answer;
  }
  int result = -1;
  for (auto* group : {&kfd_memory_ioctl, &event_ioctl, &other_ioctl}) {
    result = group(driver, number, arguments);
    if (result >= 0) break;
  }
  if (result < 0) {
    log(1, "KFD's ioctl %#x is not emulated", number);
    return EINVAL;
  }
  log(3, "KFD's ioctl %#x: %s", number, result == 0 ? "done" : std::strerror(result));
  return result;
}

}  // namespace softgpu
