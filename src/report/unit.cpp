#include "report/unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace sonde::report {
namespace {

double ns_of(TimeUnit unit) { return std::pow(1000.0, static_cast<int>(unit)); }

// Three significant digits of what is below 1,000.
int decimals_of(double magnitude) {
  if (magnitude >= 99.95) return 0;
  if (magnitude >= 9.995) return 1;
  if (magnitude >= 0.9995) return 2;
  return 2 - static_cast<int>(std::floor(std::log10(magnitude)));
}

std::string rounded(double magnitude) {
  const int decimals = decimals_of(magnitude);
  if (decimals > 0) return fmt::format("{:.{}f}", magnitude, decimals);
  return format_count(static_cast<uint64_t>(std::llround(magnitude)));
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
  return sign + (unit == TimeUnit::kNanosecond ? format_count(static_cast<uint64_t>(magnitude))
                                               : rounded(magnitude));
}

std::string text_of_real(double value) {
  constexpr double kLeast = 1e-4, kMost = 1e15;  // beyond, zeros would hide the digits
  const double magnitude = std::fabs(value);
  if (magnitude != 0 && (magnitude < kLeast || magnitude >= kMost)) {
    return fmt::format("{:.3g}", value);
  }
  const bool is_whole = magnitude == std::floor(magnitude);
  return (value < 0 ? "-" : "") +
         (is_whole ? format_count(static_cast<uint64_t>(magnitude)) : rounded(magnitude));
}

}  // namespace sonde::report
