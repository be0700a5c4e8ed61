// Svm: shared virtual memory, host memory that GPUs use at its own address: the attributes that the
// program gave to ranges, and which accesses they permit. Pages do not move: a prefetch only
// records the location.
#pragma once

#include <linux/kfd_ioctl.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>
#include <span>

#include "config/config.h"

namespace softgpu {

class Svm {
 public:
  explicit Svm(const Config& config) : config_(config) {}

  // `start` and `bytes` are page-aligned. Returns 0 or an errno.
  int set(uint64_t start, uint64_t bytes, std::span<const kfd_ioctl_svm_attribute> attributes);
  int get(uint64_t start, uint64_t bytes, std::span<kfd_ioctl_svm_attribute> attributes) const;

  // Page faults are retried: GPUs may access everything that the process has.
  bool xnack() const { return xnack_; }
  // Whether all GPUs support that.
  bool can_retry() const;
  void set_xnack(bool on) { xnack_ = on; }

  bool is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) const;

  // Called for each prefetched range: first and last byte, from where and to where (KFD's ids).
  struct Migration {
    uint64_t start = 0, bytes = 0;
    uint32_t from = 0, to = 0, prefetch = 0, preferred = 0;
  };
  void on_migration(std::function<void(const Migration&)> told) { told_ = std::move(told); }

 private:
  enum Access : uint8_t { kNone, kAccess, kInPlace };
  static constexpr size_t kGpus = 8;
  struct Attributes {
    uint32_t preferred = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    uint32_t prefetch = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    uint32_t flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT;
    uint32_t granularity = 9;  // log2 of pages: 2 MiB
    std::array<Access, kGpus> access{};
  };
  struct Range {
    uint64_t end = 0;
    Attributes attributes;
  };

  bool valid(const kfd_ioctl_svm_attribute& attribute) const;
  void apply(Attributes& range, const kfd_ioctl_svm_attribute& attribute) const;
  void split_at(uint64_t address);
  std::optional<Attributes> common(uint64_t start, uint64_t end, uint32_t& any_flags) const;
  uint32_t known_gpu(uint32_t id) const;

  const Config& config_;
  std::atomic<bool> xnack_{false};
  std::function<void(const Migration&)> told_;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Range> ranges_;  // by start; not overlapping
};

// Whether the process has memory at all of these addresses.
bool process_has(uint64_t address, uint64_t bytes);

}  // namespace softgpu
