#include "base/strings.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Strings, SizesAreBinaryAndWhole) {
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("64M"), 64u << 20);
  EXPECT_EQ(parse_size("1.5K"), 1536u);
  EXPECT_FALSE(parse_size("12X"));
  EXPECT_FALSE(parse_size(""));
  EXPECT_FALSE(parse_size("-1"));
  EXPECT_FALSE(parse_size("1e300"));
}

TEST(Strings, DurationsTakeUnits) {
  EXPECT_EQ(parse_duration_ns("0.1s", 1), 100000000);
  EXPECT_EQ(parse_duration_ns(".5ms", 1), 500000);
  EXPECT_EQ(parse_duration_ns("3", 1000000000), 3000000000);
  EXPECT_EQ(parse_duration_ns("250ns", 1), 250);
  EXPECT_FALSE(parse_duration_ns("3 s", 1));
  EXPECT_FALSE(parse_duration_ns("nan", 1));
}

TEST(Strings, JsonIsAlwaysValid) {
  EXPECT_EQ(json_quote("a\"b\\c\n\t\r\b\f\x01"), R"("a\"b\\c\n\t\r\b\f\u0001")");
  EXPECT_EQ(json_quote("\x0b"), R"("\u000b")");
  EXPECT_EQ(json_quote("\xC3\xA9\xFF"), "\"\xC3\xA9\xEF\xBF\xBD\"");
  EXPECT_EQ(json_quote("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(Strings, Formats) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_size(1536), "1.50 KiB");
  EXPECT_EQ(format_duration(-999), "-999 ns");
  EXPECT_EQ(format_duration(1500), "1.50 us");
  EXPECT_EQ(format_duration(999'499), "999 us");
  EXPECT_EQ(format_duration(999'500), "1.00 ms");
  EXPECT_EQ(format_duration(-52'949'000), "-52.9 ms");
  EXPECT_EQ(format_duration(4'162'000'000), "4.16 s");
  EXPECT_EQ(format_duration(3'723'400'000'000), "3,723 s");
  EXPECT_EQ(format_duration(-999'999'999'999), "-1,000 s");
}

TEST(Strings, SplitKeepsEmptyParts) {
  const auto parts = split("a::b", ':');
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1], "");
}

}  // namespace
}  // namespace sonde
