#include "driver/svm.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

#include "tree/layout.h"

namespace softgpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kUndefined = KFD_IOCTL_SVM_LOCATION_UNDEFINED;

bool readable(uint64_t address) {
  char byte = 0;
  const iovec to{&byte, 1}, from{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

}  // namespace

bool process_has(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kAtOnce = 4096;  // pages
  if (bytes == 0) return true;
  const uint64_t last = address + bytes - 1;
  // Checks that both ends are readable, which a reserved address range is not.
  if (last < address || !readable(address) || !readable(last)) return false;
  unsigned char present[kAtOnce];
  for (uint64_t page = address & ~(kPage - 1); page <= last; page += kAtOnce * kPage) {
    const uint64_t length = std::min(kAtOnce * kPage, (last | (kPage - 1)) - page + 1);
    if (mincore(reinterpret_cast<void*>(page), length, present) != 0) return false;
  }
  return true;
}

bool Svm::can_retry() const {
  return !config_.gpus.empty() &&
         std::all_of(config_.gpus.begin(), config_.gpus.end(), [](const GpuConfig& gpu) {
           return gpu.model == "gfx90a" || gpu.model == "gfx942";
         });
}

uint32_t Svm::known_gpu(uint32_t id) const {
  return gpu_of_id(id, config_.gpus.size()).value_or(kUndefined);
}

bool Svm::valid(const kfd_ioctl_svm_attribute& attribute) const {
  const uint32_t value = attribute.value;
  switch (attribute.type) {
    case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
      return value == 0 || value == kUndefined || known_gpu(value) != kUndefined;
    case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
      return value == 0 || known_gpu(value) != kUndefined;
    case KFD_IOCTL_SVM_ATTR_ACCESS:
    case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
    case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
      return known_gpu(value) != kUndefined;
    default:
      return attribute.type <= KFD_IOCTL_SVM_ATTR_GRANULARITY;
  }
}

void Svm::apply(Attributes& range, const kfd_ioctl_svm_attribute& attribute) const {
  const uint32_t value = attribute.value;
  switch (attribute.type) {
    case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
      range.preferred = value;
      break;
    case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
      range.prefetch = value;
      break;
    case KFD_IOCTL_SVM_ATTR_ACCESS:
      range.access.at(known_gpu(value)) = kAccess;
      break;
    case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
      range.access.at(known_gpu(value)) = kInPlace;
      break;
    case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
      range.access.at(known_gpu(value)) = kNone;
      break;
    case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
      range.flags |= value;
      break;
    case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
      range.flags &= ~value;
      break;
    default:
      range.granularity = std::min(value, 63u);
  }
}

void Svm::split_at(uint64_t address) {
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return;
  auto& [start, range] = *std::prev(next);
  if (start == address || range.end <= address) return;
  ranges_[address] = range;
  range.end = address;
}

int Svm::set(uint64_t start, uint64_t bytes, std::span<const kfd_ioctl_svm_attribute> attributes) {
  const uint64_t end = start + bytes;
  if (bytes == 0 || end < start || start % kPage != 0 || bytes % kPage != 0) return EINVAL;
  for (const auto& attribute : attributes) {
    if (!valid(attribute)) return EINVAL;
  }
  if (!process_has(start, bytes)) return EFAULT;
  std::vector<Migration> moved;
  {
    std::lock_guard lock(mutex_);
    split_at(start);
    split_at(end);
    for (uint64_t at = start; at < end;) {
      auto next = ranges_.lower_bound(at);
      if (next == ranges_.end() || next->first != at) {  // a gap
        const uint64_t gap_end = next == ranges_.end() ? end : std::min(end, next->first);
        next = ranges_.emplace(at, Range{gap_end, {}}).first;
        // In a process that retries faults, everything is accessible at first.
        if (xnack_) next->second.attributes.access.fill(kAccess);
      }
      Range& range = next->second;
      const uint32_t before =
          range.attributes.prefetch == kUndefined ? 0 : range.attributes.prefetch;
      for (const auto& attribute : attributes) apply(range.attributes, attribute);
      const Attributes& now = range.attributes;
      if (now.prefetch != kUndefined && now.prefetch != before) {
        moved.push_back({at, range.end - at, before, now.prefetch, now.prefetch, now.preferred});
      }
      at = range.end;
    }
  }
  for (const Migration& migration : moved) {
    if (told_) told_(migration);
  }
  return 0;
}

// The common attributes of a range; `any_flags` are those that any part has. Nothing if it is
// empty.
std::optional<Svm::Attributes> Svm::common(uint64_t start, uint64_t end,
                                           uint32_t& any_flags) const {
  std::optional<Attributes> sum;
  auto at = ranges_.upper_bound(start);
  if (at != ranges_.begin() && std::prev(at)->second.end > start) --at;
  for (; at != ranges_.end() && at->first < end; ++at) {
    const Attributes& each = at->second.attributes;
    if (!sum) {
      sum = each;
      any_flags = each.flags;
      continue;
    }
    if (sum->preferred != each.preferred) sum->preferred = kUndefined;
    if (sum->prefetch != each.prefetch) sum->prefetch = kUndefined;
    sum->granularity = std::min(sum->granularity, each.granularity);
    sum->flags &= each.flags;
    any_flags |= each.flags;
    for (size_t gpu = 0; gpu < kGpus; ++gpu) {
      if (sum->access[gpu] != each.access[gpu]) sum->access[gpu] = kNone;
    }
  }
  return sum;
}

int Svm::get(uint64_t start, uint64_t bytes, std::span<kfd_ioctl_svm_attribute> wanted) const {
  if (bytes == 0 || start + bytes < start) return EINVAL;
  std::shared_lock lock(mutex_);
  uint32_t any_flags = Attributes().flags;
  Attributes found;
  if (const auto sum = common(start, start + bytes, any_flags)) {
    found = *sum;
  } else if (xnack_) {
    found.access.fill(kAccess);
  }
  for (auto& each : wanted) {
    switch (each.type) {
      case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
        each.value = found.preferred;
        break;
      case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
        each.value = found.prefetch;
        break;
      case KFD_IOCTL_SVM_ATTR_ACCESS: {
        const uint32_t gpu = known_gpu(each.value);
        if (gpu == kUndefined) return EINVAL;
        const Access access = found.access.at(gpu);
        each.type = access == kAccess    ? KFD_IOCTL_SVM_ATTR_ACCESS
                    : access == kInPlace ? KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE
                                         : KFD_IOCTL_SVM_ATTR_NO_ACCESS;
        break;
      }
      case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
        each.value = found.flags;
        break;
      case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
        each.value = ~any_flags;
        break;
      case KFD_IOCTL_SVM_ATTR_GRANULARITY:
        each.value = found.granularity;
        break;
      default:
        return EINVAL;
    }
  }
  return 0;
}

bool Svm::is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) const {
  if (!xnack_) {
    std::shared_lock lock(mutex_);
    for (uint64_t at = address; at < address + bytes;) {
      auto found = ranges_.upper_bound(at);
      if (found == ranges_.begin()) return false;
      const Range& range = (--found)->second;
      if (at >= range.end || range.attributes.access.at(gpu) == kNone) return false;
      at = range.end;
    }
  }
  return process_has(address, bytes);
}

}  // namespace softgpu
