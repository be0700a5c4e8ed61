// The basic hardware counters that can be asked for: counters.ini, which is built into the tool.
// Used by plan.h, `sonde avail` and `sonde profile`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::metrics {

struct CounterInfo {
  std::string name, block;
  std::map<std::string, uint32_t, std::less<>> events;  // by GPU: "gfx90a"
  std::string kind;                                     // "count", "traffic" or "time"
  std::string softgpu;                                  // "exact", "modelled" or "no"
  std::string about;
};

struct Catalogue {
  std::vector<CounterInfo> counters;
  std::vector<std::pair<std::string, uint32_t>> limits;  // of blocks, counters of a pass

  const CounterInfo* find(std::string_view name) const;  // nullptr: not known
  uint32_t limit(std::string_view block) const;          // 0: not known
};

// Fails on a line that describes no counter; errors name `place`.
Result<Catalogue> parse_catalogue(std::string_view text, const std::string& place);
Result<Catalogue> counter_catalogue();

}  // namespace sonde::metrics
