#include "report/axis_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sonde::report {
namespace {

struct Unit {
  double size;
  const char* name;
};

// The largest unit of the kind that the largest value fills at least once.
Unit unit_of(Kind kind, double largest) {
  static constexpr Unit kTimes[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
  static constexpr Unit kSizes[] = {{1099511627776.0, "TiB"},
                                    {1073741824.0, "GiB"},
                                    {1048576.0, "MiB"},
                                    {1024.0, "KiB"},
                                    {1, "B"}};
  const auto choose = [&](const auto& units) {
    for (const Unit& unit : units) {
      if (largest >= unit.size) return unit;
    }
    return units[std::size(units) - 1];
  };
  if (kind == Kind::kTime) return choose(kTimes);
  if (kind == Kind::kBytes) return choose(kSizes);
  return {1, kind == Kind::kPercent ? "%" : ""};
}

// The smallest of 1, 2 and 5 times a power of ten that is not below `least`.
double round_step(double least) {
  const double decade = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= least * (1 - 1e-9)) return factor * decade;
  }
  return 10 * decade;
}

}  // namespace

AxisScale::AxisScale(const Axis& axis, double low, double high, int most)
    : logarithmic_(axis.logarithmic && low > 0) {
  if (logarithmic_) {
    const Unit unit = unit_of(axis.kind, 0);
    title_ = *unit.name != 0 ? fmt::format("{} ({})", axis.title, unit.name) : axis.title;
    make_decades(low, high, most);
  } else {
    make_linear_ticks(axis, low, high, most);
  }
}

void AxisScale::make_linear_ticks(const Axis& axis, double low, double high, int most) {
  if (low == high) {
    low = std::min(low, 0.0);
    high = high == low ? low + 1 : high;
  }
  const Unit unit = unit_of(axis.kind, std::max(std::abs(low), std::abs(high)));
  title_ = *unit.name != 0 ? fmt::format("{} ({})", axis.title, unit.name) : axis.title;
  double step = round_step((high - low) / unit.size / most);
  if (axis.kind == Kind::kInteger) step = std::max(step, 1.0);
  const double first = std::floor(low / unit.size / step);
  const double last = std::ceil(high / unit.size / step);
  const int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  for (double n = first; n <= last; ++n) {
    ticks_.push_back({n * step * unit.size, fmt::format("{:.{}f}", n * step + 0.0, decimals)});
  }
}

void AxisScale::make_decades(double low, double high, int most) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = std::max(static_cast<int>(std::ceil(std::log10(high))), first + 1);
  const int stride = std::max(1, (last - first + most - 1) / most);
  for (int n = first; n < last + stride; n += stride) {
    const double value = std::pow(10, n);
    ticks_.push_back(
        {value, n >= -2 && n <= 4 ? fmt::format("{:g}", value) : fmt::format("1e{}", n)});
  }
}

double AxisScale::share(double value) const {
  const double low = ticks_.front().value;
  const double high = ticks_.back().value;
  if (logarithmic_) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

}  // namespace sonde::report
