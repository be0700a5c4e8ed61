// Durations added up by name, as the statistics tables of rocprof and rocprofv3 show them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::exporting {

struct Statistics {
  int64_t calls = 0, total_ns = 0, min_ns = INT64_MAX, max_ns = 0;
  double mean = 0, squares = 0;  // Welford's running sums
  void add(int64_t ns);
  double deviation_ns() const;  // of a sample; 0 for one call
};

class NameStatistics {
 public:
  void add(std::string_view name, int64_t ns);

  struct Row {
    std::string_view name;
    const Statistics* figures;
    double percent;  // of the total of all names
  };
  // Largest total first, then by name.
  std::vector<Row> rows() const;

 private:
  std::map<std::string, Statistics, std::less<>> by_name_;
};

}  // namespace sonde::exporting
