#include "trace/group_names.h"

#include <unordered_map>

#include "base/strings.h"

namespace sonde::trace {

std::string group_name(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end == name.npos || end == 0 || end + 1 == name.size()) return name;
  const bool is_numbered =
      name[end] == '#' || (name[end] == '_' && starts_with_any(name, {"nn.Module: "}));
  return is_numbered ? name.substr(0, end + 1) + "N" : name;
}

GroupNames::GroupNames(const Trace& trace)
    : trace_(trace), group_(trace.names.size()), texts_(trace.names.size()) {
  std::unordered_map<std::string, NameId> first_of;
  for (size_t i = 0; i < trace.names.size(); ++i) {
    const auto name = static_cast<NameId>(i);
    group_[i] = name;
    std::string group = group_name(trace.names[i]);
    if (group == trace.names[i]) continue;
    const auto [entry, is_new] = first_of.try_emplace(group, name);
    group_[i] = entry->second;
    if (!is_new) texts_[entry->second] = std::move(group);
  }
}

const std::string& GroupNames::text(NameId name) const {
  const NameId group = group_[name];
  return texts_[group].empty() ? trace_.names[group] : texts_[group];
}

}  // namespace sonde::trace
