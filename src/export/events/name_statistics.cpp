#include "export/events/name_statistics.h"

#include <algorithm>
#include <cmath>

namespace sonde::exporting {

void Statistics::add(int64_t ns) {
  ++calls;
  total_ns += ns;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
  const double delta = static_cast<double>(ns) - mean;
  mean += delta / static_cast<double>(calls);
  squares += delta * (static_cast<double>(ns) - mean);
}

double Statistics::deviation_ns() const {
  return calls < 2 ? 0 : std::sqrt(squares / static_cast<double>(calls - 1));
}

void NameStatistics::add(std::string_view name, int64_t ns) {
  auto at = by_name_.find(name);
  if (at == by_name_.end()) at = by_name_.emplace(std::string(name), Statistics()).first;
  at->second.add(ns);
}

std::vector<NameStatistics::Row> NameStatistics::rows() const {
  int64_t whole = 0;
  for (const auto& [name, figures] : by_name_) whole += figures.total_ns;
  std::vector<Row> rows;
  for (const auto& [name, figures] : by_name_) {
    const double percent =
        whole == 0 ? 0 : static_cast<double>(figures.total_ns) * 100 / static_cast<double>(whole);
    rows.push_back({name, &figures, percent});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.figures->total_ns > b.figures->total_ns;
  });
  return rows;
}

}  // namespace sonde::exporting
