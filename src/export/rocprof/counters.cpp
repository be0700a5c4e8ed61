#include "export/rocprof/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quoted.h"

namespace sonde::exporting {

CounterTable::CounterTable(const Events& events) : events_(events) {
  for (const OpCounter& counter : events.op_counters) {
    if (columns_.try_emplace(counter.name, names_.size()).second) {
      names_.push_back(events.names.at(counter.name));
    }
  }
}

const std::vector<const double*>& CounterTable::values(uint32_t op) {
  sums_.assign(names_.size(), 0);
  values_.assign(names_.size(), nullptr);
  const auto first = std::lower_bound(
      events_.op_counters.begin(), events_.op_counters.end(), op,
      [](const OpCounter& counter, uint32_t wanted) { return counter.op < wanted; });
  for (auto at = first; at != events_.op_counters.end() && at->op == op; ++at) {
    const size_t column = columns_.at(at->name);
    sums_[column] += at->value;
    values_[column] = &sums_[column];
  }
  return values_;
}

int64_t CounterTable::write(CsvFile& file, uint32_t op) {
  int64_t counted = 0;
  for (const double* value : values(op)) {
    if (value == nullptr) {
      file.empty();
    } else {
      file.bare(counter_text(*value));
      ++counted;
    }
  }
  return counted;
}

std::string counter_text(double value) {
  constexpr double kExact = 9007199254740992;  // every whole number below is a double
  if (value == std::floor(value) && std::abs(value) < kExact) {
    return fmt::format("{}", static_cast<int64_t>(value));
  }
  return fmt::format("{}", value);
}

std::string csv_name(std::string_view name) {
  if (name.find_first_of(",\"\r\n") == name.npos) return std::string(name);
  return in_quotes(name, '"');
}

}  // namespace sonde::exporting
