#include "device/faults.h"

namespace softgpu {

FaultScript::FaultScript(const std::vector<FaultRule>& rules) {
  for (const FaultRule& rule : rules) rules_.push_back({rule, 0});
}

const FaultRule* FaultScript::dispatch(uint32_t gpu, std::string_view kernel, bool blit) {
  if (rules_.empty()) return nullptr;
  std::lock_guard lock(mutex_);
  const FaultRule* strikes = nullptr;
  for (Counted& counted : rules_) {
    const FaultRule& rule = counted.rule;
    if (rule.gpu >= 0 && static_cast<uint32_t>(rule.gpu) != gpu) continue;
    if (rule.kernel.empty() ? blit : kernel.find(rule.kernel) == std::string_view::npos) continue;
    if (++counted.seen == rule.dispatch && !strikes) strikes = &rule;
  }
  return strikes;
}

}  // namespace softgpu
