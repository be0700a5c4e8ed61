#include "trace/window.h"

#include <gtest/gtest.h>

namespace sonde::trace {
namespace {

constexpr Interval kSpan = {1'000'000'000'000, 1'010'000'000'000};  // 10 s

Interval extent(std::optional<std::string> from, std::optional<std::string> to) {
  const auto window = resolve_window({std::move(from), std::move(to)}, kSpan);
  EXPECT_TRUE(window.ok());
  const Interval found = window.ok() ? window->extent.value_or(Interval{}) : Interval{};
  return {found.start_ns - kSpan.start_ns, found.end_ns - kSpan.start_ns};
}

TEST(Window, UnitsPercentAndBackFromTheEnd) {
  EXPECT_EQ(extent("1.5s", "2000ms"), (Interval{1'500'000'000, 2'000'000'000}));
  EXPECT_EQ(extent("250ns", "10us"), (Interval{250, 10'000}));
  EXPECT_EQ(extent("2", std::nullopt), (Interval{2'000'000'000, 10'000'000'000}));
  EXPECT_EQ(extent("12.5%", "50%"), (Interval{1'250'000'000, 5'000'000'000}));
  EXPECT_EQ(extent("-1s", std::nullopt), (Interval{9'000'000'000, 10'000'000'000}));
  EXPECT_EQ(extent("-10%", "-5%"), (Interval{9'000'000'000, 9'500'000'000}));
  EXPECT_EQ(extent("0", "1h"), (Interval{0, 10'000'000'000}));
}

TEST(Window, EdgesOfTheTraceExcludeNothing) {
  const auto window = resolve_window({"0%", "100%"}, kSpan);
  ASSERT_TRUE(window.ok());
  EXPECT_EQ(window->select, Window{}.select);
  EXPECT_FALSE(resolve_window({}, kSpan)->extent.has_value());
}

TEST(Window, WrongTextIsOneLine) {
  for (const char* text :
       {"", "-", "abc", "1x", "--1s", "101%", "%", "1 s", "1e99", "nan", "1s%", "-+1s"}) {
    const Status status = check_window({text, std::nullopt});
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.error().context, "--from");
  }
  EXPECT_FALSE(resolve_window({"2s", "1s"}, kSpan).ok());
}

}  // namespace
}  // namespace sonde::trace
