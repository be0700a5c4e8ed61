// One value of a report and what it measures. Used by reports and charts.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace sonde::report {

enum class Kind {
  kText,
  kName,     // of a kernel, operation or function: text shows it shortened
  kInteger,  // a count
  kId,       // an integer that is not counted: no thousands separators
  kReal,
  kTime,  // integer nanoseconds
  kBytes,
  kPercent,  // 12.5 means 12.5 %
};

// Text, integer (kInteger, kId, kTime, kBytes), real (kReal, kPercent), or nothing known.
using Value = std::variant<std::monostate, int64_t, double, std::string>;

}  // namespace sonde::report
