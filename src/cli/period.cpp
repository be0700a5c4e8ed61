#include "cli/period.h"

#include "base/strings.h"

namespace sonde::cli {

std::optional<Period> parse_period(std::string_view text) {
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int64_t kMostRounds = 1'000'000;
  const auto parts = split(text, ':');
  if (parts.size() != 3 && parts.size() != 4) return std::nullopt;
  const auto delay = parse_duration_ns(parts[0], kSecond);
  const auto length = parse_duration_ns(parts[1], kSecond);
  const auto rate = parse_duration_ns(parts[2], kSecond);
  const auto count = parts.size() == 4 ? parse_int(parts[3]) : 0;
  if (!delay || !length || !rate || !count) return std::nullopt;
  if (*delay < 0 || *length <= 0 || *rate < *length) return std::nullopt;
  if (*count < 0 || *count > kMostRounds) return std::nullopt;
  return Period{*delay, *length, *rate, static_cast<int>(*count)};
}

}  // namespace sonde::cli
