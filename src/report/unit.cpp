#include "report/unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace sonde::report {
namespace {

double ns_of(TimeUnit unit) { return std::pow(1000.0, static_cast<int>(unit)); }

// Decimals that leave three significant digits of what is below 1,000.
int decimals_of(double magnitude) {
  if (magnitude >= 99.95) return 0;
  if (magnitude >= 9.995) return 1;
  if (magnitude >= 0.9995) return 2;
  return 2 - static_cast<int>(std::floor(std::log10(magnitude)));
}

}  // namespace

const char* name_of(TimeUnit unit) {
  constexpr const char* kNames[] = {"ns", "us", "ms", "s"};
  return kNames[static_cast<int>(unit)];
}

TimeUnit unit_that_fits(std::vector<int64_t> times_ns) {
  std::erase(times_ns, 0);
  if (times_ns.empty()) return TimeUnit::kMicrosecond;
  std::vector<double> magnitudes;
  for (const int64_t ns : times_ns) magnitudes.push_back(std::fabs(static_cast<double>(ns)));
  std::sort(magnitudes.begin(), magnitudes.end());
  const double middle = magnitudes[magnitudes.size() / 2];
  TimeUnit unit = TimeUnit::kNanosecond;
  while (unit != TimeUnit::kSecond &&
         (middle >= 1000 * ns_of(unit) || magnitudes.back() >= 1e6 * ns_of(unit))) {
    unit = static_cast<TimeUnit>(static_cast<int>(unit) + 1);
  }
  return unit;
}

std::string text_in(TimeUnit unit, int64_t ns) {
  if (ns == 0) return "0";
  const std::string sign = ns < 0 ? "-" : "";
  const double magnitude = std::fabs(static_cast<double>(ns)) / ns_of(unit);
  if (magnitude < 0.001) return sign.empty() ? "<0.001" : ">-0.001";
  const int decimals = unit == TimeUnit::kNanosecond ? 0 : decimals_of(magnitude);
  if (decimals > 0) return sign + fmt::format("{:.{}f}", magnitude, decimals);
  return sign + format_count(static_cast<uint64_t>(std::llround(magnitude)));
}

}  // namespace sonde::report
