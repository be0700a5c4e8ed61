// Numbers written as text, as integers. Times with decimals are read without a double, through
// which 2.2e12 us with three decimals would lose nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde::importers {

// text * 10^scale, rounded to the nearest integer: decimal_to_int("12.3456", 3) is 12346. The text
// is a JSON number. nullopt if it is not one, or does not fit.
std::optional<int64_t> decimal_to_int(std::string_view text, int scale);
// "0x1f" or "31"; nullopt if it is neither.
std::optional<int64_t> parse_number(std::string_view text);

}  // namespace sonde::importers
