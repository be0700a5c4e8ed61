// "DELAY:LENGTH:RATE" or "DELAY:LENGTH:RATE:COUNT", as --period has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde::cli {

struct Period {
  int64_t delay_ns = 0, length_ns = 0;
  int64_t rate_ns = 0;  // from the beginning of one to that of the next; never less than the length
  int count = 0;        // 0 = for ever
};

// Nothing if it is not a period.
std::optional<Period> parse_period(std::string_view text);

}  // namespace sonde::cli
