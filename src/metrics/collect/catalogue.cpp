#include "metrics/collect/catalogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "metrics/definition_texts.h"

namespace sonde::metrics {
namespace {

std::vector<std::string> parts_of(std::string_view line) {
  std::vector<std::string> parts;
  for (size_t at = 0;;) {
    const size_t bar = line.find(" | ", at);
    parts.emplace_back(trim(line.substr(at, bar - at)));
    if (bar == line.npos) return parts;
    at = bar + 3;
  }
}

// "gfx90a=4 gfx908=4"; false where it is something else.
bool read_events(const std::string& text, CounterInfo& counter) {
  for (const std::string_view word : split(text, ' ')) {
    const size_t equals = word.find('=');
    const auto number = equals == word.npos ? std::nullopt : parse_int(word.substr(equals + 1));
    if (!number || *number < 0 || *number > UINT32_MAX) return false;
    counter.events[std::string(word.substr(0, equals))] = static_cast<uint32_t>(*number);
  }
  return !counter.events.empty();
}

bool read_limits(const std::vector<std::string>& parts, Catalogue& catalogue) {
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t blank = parts[i].find(' ');
    const auto most =
        blank == std::string::npos ? std::nullopt : parse_int(parts[i].substr(blank + 1));
    if (!most || *most < 1 || *most > 64) return false;
    catalogue.limits.emplace_back(parts[i].substr(0, blank), static_cast<uint32_t>(*most));
  }
  return true;
}

}  // namespace

const CounterInfo* Catalogue::find(std::string_view name) const {
  const auto found = std::find_if(counters.begin(), counters.end(),
                                  [&](const CounterInfo& each) { return each.name == name; });
  return found == counters.end() ? nullptr : &*found;
}

uint32_t Catalogue::limit(std::string_view block) const {
  for (const auto& [name, most] : limits) {
    if (name == block) return most;
  }
  return 0;
}

Result<Catalogue> parse_catalogue(std::string_view text, const std::string& place) {
  Catalogue catalogue;
  size_t row = 0;
  for (std::string_view line : split(text, '\n')) {
    ++row;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string> parts = parts_of(line);
    CounterInfo counter;
    const bool is_limit = parts[0] == "limit";
    const bool good = is_limit ? read_limits(parts, catalogue)
                               : parts.size() == 6 && catalogue.limit(parts[1]) != 0 &&
                                     read_events(parts[2], counter);
    if (!good) {
      return make_error(ErrorCode::kInvalidArgument, "this line does not describe a counter",
                        fmt::format("{}:{}", place, row));
    }
    if (is_limit) continue;
    counter.name = parts[0];
    counter.block = parts[1];
    counter.kind = parts[3];
    counter.softgpu = parts[4];
    counter.about = parts[5];
    catalogue.counters.push_back(std::move(counter));
  }
  return catalogue;
}

Result<Catalogue> counter_catalogue() { return parse_catalogue(kCounterText, "counters.ini"); }

}  // namespace sonde::metrics
