#include "metrics/workload/long_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/strings.h"

namespace sonde::metrics {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
// Facts of a dispatch that formulas use.
constexpr std::array<const char*, 8> kBeside = {
    "Grid_Size",  "Workgroup_Size", "LDS_Per_Workgroup", "Scratch_Per_Workitem", "Arch_VGPR",
    "Accum_VGPR", "SGPR",           "wave_size"};

struct Dispatch {
  double gpu = 0;
  std::array<double, kBeside.size()> beside{};
  std::map<std::string, double> counters;
  std::vector<double> times_ns;
};
// Dispatch, kernel, grid, work group, LDS.
using Key = std::tuple<double, std::string, double, double, double>;

double median(std::vector<double> numbers) {
  if (numbers.empty()) return kNotKnown;
  std::sort(numbers.begin(), numbers.end());
  const size_t middle = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

double time_ns(std::string_view start, std::string_view end) {
  const auto from = parse_int(trim(start)), to = parse_int(trim(end));
  int64_t difference = 0;
  if (from && to && !__builtin_sub_overflow(*to, *from, &difference)) {
    return static_cast<double>(difference);
  }
  return number_of(end) - number_of(start);
}

double number_or(double number, double fallback) { return std::isnan(number) ? fallback : number; }

}  // namespace

Status read_long(CsvText& csv, const Names& wanted, Workload& workload) {
  const auto field = [&](const char* name) -> std::string_view {
    const size_t column = csv.column(name);
    return column == std::string::npos ? std::string_view() : csv.field(column);
  };
  std::map<Key, Dispatch> dispatches;
  Names seen;
  std::map<double, int64_t> gpus;
  while (csv.next()) {
    const Key key{number_or(number_of(field("Dispatch_ID")), 0), unquoted(field("Kernel_Name")),
                  number_or(number_of(field("Grid_Size")), 0),
                  number_or(number_of(field("Workgroup_Size")), 0),
                  number_or(number_of(field("LDS_Per_Workgroup")), 0)};
    Dispatch& dispatch = dispatches[key];
    dispatch.gpu = number_or(number_of(field("GPU_ID")), 0);
    gpus[dispatch.gpu] = 0;
    for (size_t i = 0; i < kBeside.size(); ++i) dispatch.beside[i] = number_of(field(kBeside[i]));
    const double time = time_ns(field("Start_Timestamp"), field("End_Timestamp"));
    if (!std::isnan(time)) dispatch.times_ns.push_back(time);
    const std::string name = unquoted(field("Counter_Name"));
    const bool is_accumulated = name.size() > 6 && name.substr(name.size() - 6) == "_ACCUM";
    if (!is_accumulated && wanted.count(name.substr(0, name.find('['))) == 0) continue;
    dispatch.counters[name] = number_of(field("Counter_Value"));
    seen.insert(name);
  }
  int64_t next = 0;
  for (auto& [gpu, number] : gpus) number = next++;
  std::map<std::string, std::vector<double>> columns;
  for (const auto& [key, dispatch] : dispatches) {
    workload.kernels.push_back(std::get<1>(key));
    workload.dispatches.push_back(static_cast<int64_t>(workload.dispatches.size()));
    workload.gpus.push_back(gpus[dispatch.gpu]);
    for (const std::string& name : seen) {
      const auto found = dispatch.counters.find(name);
      columns[name].push_back(found == dispatch.counters.end() ? kNotKnown : found->second);
    }
    for (size_t i = 0; i < kBeside.size(); ++i) columns[kBeside[i]].push_back(dispatch.beside[i]);
    columns["Start_Timestamp"].push_back(0);
    columns["End_Timestamp"].push_back(median(dispatch.times_ns));
  }
  for (auto& [name, column] : columns) {
    workload.main.columns[name] = std::make_shared<const std::vector<double>>(std::move(column));
  }
  return ok_status();
}

}  // namespace sonde::metrics
