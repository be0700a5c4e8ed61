#include "report/layout.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace sonde::report {
namespace {

TEST(Layout, WidestColumnsGiveWayFirst) {
  const std::vector<ColumnNeed> needs = {{50, 12, 0}, {30, 12, 0}, {10, 10, 0}};
  EXPECT_EQ(fit_columns(needs, 0), (std::vector<size_t>{50, 30, 10}));
  EXPECT_EQ(fit_columns(needs, 80), (std::vector<size_t>{36, 30, 10}));
  EXPECT_EQ(fit_columns(needs, 64), (std::vector<size_t>{25, 25, 10}));
  EXPECT_EQ(fit_columns(needs, 38), (std::vector<size_t>{12, 12, 10}));
}

TEST(Layout, ColumnsLeaveByPriorityThenFromTheRight) {
  const std::vector<ColumnNeed> needs = {{50, 40, 9}, {30, 16, 0}, {10, 10, 1}, {8, 8, 0}};
  EXPECT_EQ(fit_columns(needs, 80), (std::vector<size_t>{40, 16, 10, 8}));
  EXPECT_EQ(fit_columns(needs, 79), (std::vector<size_t>{40, 25, 10, kLeftOut}));
  EXPECT_EQ(fit_columns(needs, 69), (std::vector<size_t>{50, kLeftOut, 10, kLeftOut}));
  EXPECT_EQ(fit_columns(needs, 50), (std::vector<size_t>{50, kLeftOut, kLeftOut, kLeftOut}));
  EXPECT_EQ(fit_columns({{50, 50, 0}}, 20), (std::vector<size_t>{50}));
}

TEST(Layout, CutsTheMiddleByCodePoints) {
  EXPECT_EQ(ellipsize("abc", 3), "abc");
  EXPECT_EQ(ellipsize("abcdefghijklmnop", 10), "abcde..nop");
  EXPECT_EQ(ellipsize("abcdef", 2), "ab");
  EXPECT_EQ(ellipsize("GPUs are idle because the program launches work too late", 35),
            "GPUs are idle because .. too late");
  EXPECT_EQ(ellipsize("oneverylongwordofmanyletters and four more words", 20), ".. words");
  const std::string umlauts = "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4";
  EXPECT_EQ(valid_utf8(ellipsize(umlauts, 5)), ellipsize(umlauts, 5));
  EXPECT_EQ(display_width(ellipsize(umlauts, 5)), 5u);
}

TEST(Layout, Wraps) {
  EXPECT_EQ(wrap("aa bb cc", 5, 0), "aa bb\ncc\n");
  EXPECT_EQ(wrap("note: aa bb", 8, 2), "note: aa\n  bb\n");
  EXPECT_EQ(wrap("  kept as it is, whatever", 5, 0), "  kept as it is, whatever\n");
  EXPECT_EQ(wrap("longerthanwidth b", 5, 0), "longerthanwidth\nb\n");
}

}  // namespace
}  // namespace sonde::report
