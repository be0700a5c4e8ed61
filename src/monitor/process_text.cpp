#include "monitor/process_text.h"

#include <iterator>

#include "base/strings.h"
#include "monitor/kept_file.h"

namespace sonde::monitor {

std::optional<ProcessStat> parse_stat(std::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == text.npos) return std::nullopt;
  std::string_view rest = text.substr(name_end + 1);
  ProcessStat stat;
  if (const auto state = take_word(rest); !state.empty()) stat.state = state[0];
  for (size_t i = 4; i < std::size(stat.fields); ++i) {
    stat.fields[i] = leading_number(take_word(rest));
  }
  return stat;
}

std::string_view field_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    return trim(line.substr(name.size() + 1));
  }
  return {};
}

int64_t number_of(std::string_view text, std::string_view name) {
  const std::string_view value = field_of(text, name);
  return value.empty() ? -1 : leading_number(value);
}

}  // namespace sonde::monitor
