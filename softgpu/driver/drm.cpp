#include <fcntl.h>  // O_CLOEXEC, which DRM_CLOEXEC stands for
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "config/models.h"
#include "driver/kfd.h"
#include "driver/log.h"

namespace softgpu {
namespace {

// libdrm calls this twice: first for the lengths.
void answer_text(char* to, __kernel_size_t& bytes, std::string_view text) {
  if (to != nullptr) std::memcpy(to, text.data(), std::min<size_t>(bytes, text.size()));
  bytes = text.size();
}

int version(drm_version& a) {
  a.version_major = 3;
  a.version_minor = 49;
  a.version_patchlevel = 0;
  answer_text(a.name, a.name_len, "amdgpu");
  answer_text(a.date, a.date_len, "20150101");
  answer_text(a.desc, a.desc_len, "AMD GPU");
  return 0;
}

drm_amdgpu_info_device device_info(const GpuConfig& gpu) {
  const Model& model = model_of(gpu);
  drm_amdgpu_info_device info{};
  info.device_id = gpu.device_id;  // with the revision, libdrm's key for the marketing name
  info.pci_rev = gpu.revision;
  info.family = model.family.drm;
  info.chip_rev = 1;
  info.external_rev = 0x3c;
  info.num_shader_engines = model.shader_engines;
  info.num_shader_arrays_per_engine = model.family.arrays_per_engine;
  info.gpu_counter_freq = static_cast<uint32_t>(gpu.clock.rate_hz / 1000);
  info.max_engine_clock = uint64_t{gpu.shader_clock_mhz} * 1000;
  info.max_memory_clock = uint64_t{gpu.memory_clock_mhz} * 1000;
  info.cu_active_number = gpu.compute_units;
  info.num_hw_gfx_contexts = 8;
  info.virtual_address_offset = 0x200000;
  info.virtual_address_max = uint64_t{1} << 47;
  info.virtual_address_alignment = 4096;
  info.high_va_offset = 0xffff800000000000;
  info.high_va_max = 0xffffffffffe00000;
  info.wave_front_size = model.family.wave_size;
  info.vram_type = AMDGPU_VRAM_TYPE_HBM;
  info.vram_bit_width = model.memory_width_bits;
  return info;
}

drm_amdgpu_memory_info memory_info(Driver& driver, uint32_t gpu) {
  const GpuConfig& own = driver.config().gpus[gpu];
  const GpuLoad load = driver.session().load(gpu);
  drm_amdgpu_memory_info info{};
  info.vram.total_heap_size = info.vram.usable_heap_size = own.vram_bytes;
  info.vram.heap_usage = load.vram_used_bytes;
  info.cpu_accessible_vram = info.vram;
  if (!own.large_bar) {
    info.cpu_accessible_vram.total_heap_size = info.cpu_accessible_vram.usable_heap_size =
        uint64_t{256} << 20;
  }
  info.gtt.total_heap_size = info.gtt.usable_heap_size = own.vram_bytes;
  info.gtt.heap_usage = load.gtt_used_bytes;
  return info;
}

int info_query(Driver& driver, uint32_t gpu, const drm_amdgpu_info& a) {
  auto* out = reinterpret_cast<char*>(a.return_pointer);
  const auto answer = [&](const auto& value) {
    std::memcpy(out, &value, std::min<size_t>(a.return_size, sizeof value));
  };
  // Copies no more than the answer: libraries pass sizes that are larger than their buffers.
  switch (a.query) {
    case AMDGPU_INFO_ACCEL_WORKING:
      answer(uint32_t{1});
      break;
    case AMDGPU_INFO_DEV_INFO:
      answer(device_info(driver.config().gpus[gpu]));
      break;
    case AMDGPU_INFO_MEMORY:
      answer(memory_info(driver, gpu));
      break;
    case AMDGPU_INFO_VRAM_GTT: {
      const drm_amdgpu_memory_info memory = memory_info(driver, gpu);
      answer(drm_amdgpu_info_vram_gtt{memory.vram.total_heap_size,
                                      memory.cpu_accessible_vram.total_heap_size,
                                      memory.gtt.total_heap_size});
      break;
    }
    case AMDGPU_INFO_TIMESTAMP:
      answer(device_ticks(driver.config().gpus[gpu].clock));
      break;
    case AMDGPU_INFO_VRAM_USAGE:
      answer(driver.session().load(gpu).vram_used_bytes);
      break;
    case AMDGPU_INFO_GTT_USAGE:
      answer(driver.session().load(gpu).gtt_used_bytes);
      break;
    case AMDGPU_INFO_READ_MMR_REG:
      std::memset(out, 0, a.return_size);  // image tiling
      break;
    default:
      std::memset(out, 0, a.return_size);
      log(2, "DRM's information %#x is not emulated: zeros", a.query);
  }
  return 0;
}

int gem_map(Driver& driver, uint32_t gpu, const drm_amdgpu_gem_va& a) {
  const Memory::Piece piece{.address = a.va_address,
                            .bytes = a.map_size,
                            .offset = a.offset_in_bo,
                            .writable = (a.flags & AMDGPU_VM_PAGE_WRITEABLE) != 0};
  const BufferRef buffer = driver.gem().buffer(gpu, a.handle);
  switch (a.operation) {
    case AMDGPU_VA_OP_MAP:
      return buffer ? driver.memory().map_piece(buffer, piece, gpu) : ENOENT;
    case AMDGPU_VA_OP_UNMAP:
      return buffer ? driver.memory().unmap_piece(buffer, piece, gpu) : ENOENT;
    case AMDGPU_VA_OP_CLEAR:
      return driver.memory().unmap_piece(nullptr, piece, gpu);
    default:
      log(1, "GEM_VA's operation %u is not emulated", a.operation);
      return EINVAL;
  }
}

int gem_mmap(Driver& driver, uint32_t gpu, drm_amdgpu_gem_mmap& a) {
  const BufferRef buffer = driver.gem().buffer(gpu, a.in.handle);
  if (!buffer) return ENOENT;
  a.out.addr_ptr = buffer->mmap_offset;
  return 0;
}

// The flags with which the memory was created.
int gem_op(Driver& driver, uint32_t gpu, const drm_amdgpu_gem_op& a) {
  const BufferRef buffer = driver.gem().buffer(gpu, a.handle);
  if (!buffer) return ENOENT;
  if (a.op != AMDGPU_GEM_OP_GET_GEM_CREATE_INFO) return EINVAL;
  drm_amdgpu_gem_create_in info{};
  info.bo_size = buffer->bytes;
  info.alignment = 4096;
  info.domains = (buffer->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) != 0 ? AMDGPU_GEM_DOMAIN_VRAM
                                                                     : AMDGPU_GEM_DOMAIN_GTT;
  std::memcpy(reinterpret_cast<void*>(a.value), &info, sizeof info);
  return 0;
}

int gem_ioctl(Driver& driver, uint32_t gpu, unsigned number, void* arguments) {
  switch (number) {
    case _IOC_NR(DRM_IOCTL_PRIME_FD_TO_HANDLE): {
      auto& a = *static_cast<drm_prime_handle*>(arguments);
      return driver.gem().import(gpu, a.fd, a.handle);
    }
    case _IOC_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD): {
      auto& a = *static_cast<drm_prime_handle*>(arguments);
      return driver.gem().export_fd(gpu, a.handle, (a.flags & DRM_CLOEXEC) != 0, a.fd);
    }
    case _IOC_NR(DRM_IOCTL_GEM_CLOSE):
      return driver.gem().close(gpu, static_cast<drm_gem_close*>(arguments)->handle);
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_VA:
      return gem_map(driver, gpu, *static_cast<const drm_amdgpu_gem_va*>(arguments));
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_MMAP:
      return gem_mmap(driver, gpu, *static_cast<drm_amdgpu_gem_mmap*>(arguments));
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_OP:
      return gem_op(driver, gpu, *static_cast<const drm_amdgpu_gem_op*>(arguments));
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_METADATA: {
      auto& a = *static_cast<drm_amdgpu_gem_metadata*>(arguments);
      a.data = {};  // for images
      return 0;
    }
    default:
      return -1;
  }
}

}  // namespace

int drm_ioctl(Driver& driver, uint32_t gpu, unsigned long request, void* arguments) {
  if (gpu >= driver.config().gpus.size()) return ENODEV;
  const unsigned number = _IOC_NR(request);
  switch (number) {
    case _IOC_NR(DRM_IOCTL_VERSION):
      return version(*static_cast<drm_version*>(arguments));
    case _IOC_NR(DRM_IOCTL_GET_CLIENT):
      static_cast<drm_client*>(arguments)->auth = 1;
      return 0;
    case DRM_COMMAND_BASE + DRM_AMDGPU_INFO:
      return info_query(driver, gpu, *static_cast<const drm_amdgpu_info*>(arguments));
    default:
      if (const int result = gem_ioctl(driver, gpu, number, arguments); result >= 0) {
        log(3, "DRM's ioctl %#x: %s", number, result == 0 ? "done" : std::strerror(result));
        return result;
      }
      log(1, "DRM's ioctl %#x is not emulated: graphics and video do not work", number);
      return EOPNOTSUPP;
  }
}

}  // namespace softgpu
