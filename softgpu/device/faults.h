// FaultScript: decides at each dispatch whether a configured fault strikes.
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace softgpu {

class FaultScript {
 public:
  explicit FaultScript(const std::vector<FaultRule>& rules);

  // Counts a dispatch. Returns the rule that strikes now, or nullptr. A rule without a kernel name
  // does not count the runtimes' own blit kernels, which the user does not see.
  const FaultRule* dispatch(uint32_t gpu, std::string_view kernel, bool blit);

 private:
  struct Counted {
    FaultRule rule;
    uint64_t seen = 0;
  };
  std::mutex mutex_;
  std::vector<Counted> rules_;  // its size never changes
};

}  // namespace softgpu
