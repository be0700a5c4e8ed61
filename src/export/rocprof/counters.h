// The hardware counters of operations as the tables of rocprof and rocprofv3 have them. Used by the
// exporters of both.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "export/events/events.h"
#include "export/output/csv.h"

namespace sonde::exporting {

class CounterTable {
 public:
  explicit CounterTable(const Events& events);

  // Each name once, in the order in which operations have them.
  const std::vector<std::string_view>& names() const { return names_; }
  // The values of one operation, by its index in `events`: one for each of names(), or nullptr
  // where it was not counted. Parts are added up. Valid until the next call.
  const std::vector<const double*>& values(uint32_t op);
  // The same as cells of a row, empty where it was not counted: how many were.
  int64_t write(CsvFile& file, uint32_t op);

 private:
  const Events& events_;
  std::vector<std::string_view> names_;
  std::map<uint32_t, size_t> columns_;  // by index of Events::names
  std::vector<double> sums_;
  std::vector<const double*> values_;
};

// "1600", "0.25": without the digits that a whole number does not have.
std::string counter_text(double value);

// Counter names as in these tools' headers: bare, except those with commas or quotes, which only
// other tools' counters do.
std::string csv_name(std::string_view name);

}  // namespace sonde::exporting
