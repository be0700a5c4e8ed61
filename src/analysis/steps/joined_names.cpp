#include "analysis/steps/joined_names.h"

#include <utility>
#include <vector>

namespace sonde::analysis {

Names join_numbered(const trace::Trace& trace, std::span<Shares* const> steps) {
  std::map<trace::NameId, size_t> steps_with;
  for (const Shares* shares : steps) {
    for (const auto& [label, time_ns] : *shares) ++steps_with[label];
  }
  std::map<std::string, std::vector<trace::NameId>> by_stem;
  for (const auto& [label, count] : steps_with) {
    const std::string& name = trace.names[label];
    const size_t end = name.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
    if (count == 1 && end != 0 && end != name.size()) by_stem[name.substr(0, end)].push_back(label);
  }
  Names names;
  std::map<trace::NameId, trace::NameId> joined;
  for (const auto& [stem, labels] : by_stem) {
    if (labels.size() < 2) continue;
    names[labels.front()] = stem + "N";
    for (const trace::NameId label : labels) joined[label] = labels.front();
  }
  for (Shares* shares : steps) {
    Shares under_one;
    for (const auto& [label, time_ns] : *shares) {
      const auto found = joined.find(label);
      under_one[found == joined.end() ? label : found->second] += time_ns;
    }
    *shares = std::move(under_one);
  }
  return names;
}

}  // namespace sonde::analysis
