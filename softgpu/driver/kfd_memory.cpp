// KFD's memory ioctls: allocations, their mappings, and sharing between processes.
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "driver/kfd_abi.h"
#include "driver/kfd_parts.h"
#include "tree/layout.h"

namespace softgpu {
namespace {

int allocate(Driver& driver, kfd_ioctl_alloc_memory_of_gpu_args& a) {
  const auto gpu = gpu_of_id(a.gpu_id, driver.config().gpus.size());
  if (!gpu) return EINVAL;
  Memory::Made made;
  const int error = driver.memory().allocate({.address = a.va_addr,
                                              .bytes = a.size,
                                              .gpu = *gpu,
                                              .flags = a.flags,
                                              .user_address = a.mmap_offset},
                                             made);
  if (error != 0) return error;
  a.handle = made.handle;
  a.mmap_offset = made.offset;
  return 0;
}

// Map and unmap have the same arguments. A repeated call skips what has succeeded.
template <typename Arguments>
int for_each_gpu(Driver& driver, Arguments& a, int (Driver::*change)(uint64_t, uint32_t)) {
  const auto* ids = reinterpret_cast<const uint32_t*>(a.device_ids_array_ptr);
  for (; a.n_success < a.n_devices; ++a.n_success) {
    const auto gpu = gpu_of_id(ids[a.n_success], driver.config().gpus.size());
    if (!gpu) return EINVAL;
    if (const int error = (driver.*change)(a.handle, *gpu)) return error;
  }
  return 0;
}

int available_memory(Driver& driver, kfd_ioctl_get_available_memory_args& a) {
  const auto gpu = gpu_of_id(a.gpu_id, driver.config().gpus.size());
  if (!gpu) return EINVAL;
  const uint64_t total = driver.config().gpus[*gpu].vram_bytes;
  const uint64_t used = driver.session().load(*gpu).vram_used_bytes;
  a.available = total > used ? total - used : 0;
  return 0;
}

int export_dmabuf(Driver& driver, kfd::ExportDmabuf& a) {
  const BufferRef buffer = driver.memory().buffer(a.handle);
  if (!buffer) return EINVAL;
  int fd = -1;
  const int error = driver.memory().buffers().open_share(buffer, (a.flags & O_CLOEXEC) != 0, fd);
  a.fd = static_cast<uint32_t>(fd);
  return error;
}

int dmabuf_info(Driver& driver, kfd_ioctl_get_dmabuf_info_args& a) {
  const auto info = driver.memory().buffers().info(static_cast<int>(a.dmabuf_fd));
  if (!info) return EINVAL;
  a.size = info->bytes;
  a.metadata_size = 0;
  a.gpu_id = gpu_id(info->gpu);
  a.flags = info->flags;
  return 0;
}

int import_dmabuf(Driver& driver, kfd_ioctl_import_dmabuf_args& a) {
  const auto gpu = gpu_of_id(a.gpu_id, driver.config().gpus.size());
  BufferRef buffer;
  if (!gpu) return EINVAL;
  if (const int error = driver.memory().buffers().import(static_cast<int>(a.dmabuf_fd), buffer)) {
    return error;
  }
  Memory::Made made;
  const int error = driver.memory().add(buffer, a.va_addr, *gpu, made);
  a.handle = made.handle;
  return error;
}

int export_ipc(Driver& driver, kfd::IpcExport& a) {
  const BufferRef buffer = driver.memory().buffer(a.handle);
  if (!buffer) return EINVAL;
  ShareName name;
  if (const int error = driver.memory().buffers().share(buffer, name)) return error;
  std::memset(a.share_handle, 0, sizeof a.share_handle);
  std::memcpy(a.share_handle, &name, sizeof name);
  return 0;
}

int import_ipc(Driver& driver, kfd::IpcImport& a) {
  const auto gpu = gpu_of_id(a.gpu_id, driver.config().gpus.size());
  if (!gpu) return EINVAL;
  ShareName name;
  std::memcpy(&name, a.share_handle, sizeof name);
  BufferRef buffer;
  if (const int error = driver.memory().buffers().import(name, buffer)) return error;
  Memory::Made made;
  const int error = driver.memory().add(buffer, a.va_addr, *gpu, made);
  a.handle = made.handle;
  a.mmap_offset = made.offset;
  a.flags = buffer->flags;
  return error;
}

int svm(Driver& driver, kfd_ioctl_svm_args& a) {
  const std::span<kfd_ioctl_svm_attribute> attributes(a.attrs, a.nattr);
  switch (a.op) {
    case KFD_IOCTL_SVM_OP_SET_ATTR:
      return driver.svm().set(a.start_addr, a.size, attributes);
    case KFD_IOCTL_SVM_OP_GET_ATTR:
      return driver.svm().get(a.start_addr, a.size, attributes);
    default:
      return EINVAL;
  }
}

int set_xnack(Driver& driver, kfd_ioctl_set_xnack_mode_args& a) {
  if (a.xnack_enabled >= 0) {
    if (const int error = driver.set_xnack(a.xnack_enabled > 0)) return error;
  }
  a.xnack_enabled = driver.svm().xnack() ? 1 : 0;
  return 0;
}

}  // namespace

int kfd_memory_ioctl(Driver& driver, unsigned number, void* p) {
  switch (number) {
    case _IOC_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU):
      return allocate(driver, as<kfd_ioctl_alloc_memory_of_gpu_args>(p));
    case _IOC_NR(AMDKFD_IOC_FREE_MEMORY_OF_GPU):
      return driver.memory().free(as<kfd_ioctl_free_memory_of_gpu_args>(p).handle);
    case _IOC_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU):
      return for_each_gpu(driver, as<kfd_ioctl_map_memory_to_gpu_args>(p), &Driver::map_memory);
    case _IOC_NR(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU):
      return for_each_gpu(driver, as<kfd_ioctl_unmap_memory_from_gpu_args>(p),
                          &Driver::unmap_memory);
    case _IOC_NR(AMDKFD_IOC_AVAILABLE_MEMORY):
      return available_memory(driver, as<kfd_ioctl_get_available_memory_args>(p));
    case kfd::kExportDmabuf:
      return export_dmabuf(driver, as<kfd::ExportDmabuf>(p));
    case _IOC_NR(AMDKFD_IOC_GET_DMABUF_INFO):
      return dmabuf_info(driver, as<kfd_ioctl_get_dmabuf_info_args>(p));
    case _IOC_NR(AMDKFD_IOC_IMPORT_DMABUF):
      return import_dmabuf(driver, as<kfd_ioctl_import_dmabuf_args>(p));
    case kfd::kIpcExport:
      return export_ipc(driver, as<kfd::IpcExport>(p));
    case kfd::kIpcImport:
      return import_ipc(driver, as<kfd::IpcImport>(p));
    case _IOC_NR(AMDKFD_IOC_SET_XNACK_MODE):
      return set_xnack(driver, as<kfd_ioctl_set_xnack_mode_args>(p));
    case _IOC_NR(AMDKFD_IOC_SVM):
      return svm(driver, as<kfd_ioctl_svm_args>(p));
    default:
      return -1;
  }
}

}  // namespace softgpu
