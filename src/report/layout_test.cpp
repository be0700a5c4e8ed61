#include "report/layout.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/strings.h"

namespace sonde::report {
namespace {

TEST(Layout, WidestColumnsGiveWayFirst) {
  EXPECT_EQ(fit_widths({50, 30, 10}, {true, true, false}, 0), (std::vector<size_t>{50, 30, 10}));
  EXPECT_EQ(fit_widths({50, 30, 10}, {true, true, false}, 80), (std::vector<size_t>{36, 30, 10}));
  EXPECT_EQ(fit_widths({50, 30, 10}, {true, true, false}, 64), (std::vector<size_t>{25, 25, 10}));
  EXPECT_EQ(fit_widths({50, 30, 10}, {true, true, false}, 20), (std::vector<size_t>{12, 12, 10}));
  EXPECT_EQ(fit_widths({50}, {false}, 20), (std::vector<size_t>{50}));
}

TEST(Layout, CutsTheMiddleByCodePoints) {
  EXPECT_EQ(ellipsize("abc", 3), "abc");
  EXPECT_EQ(ellipsize("abcdefghijklmnop", 10), "abcde..nop");
  EXPECT_EQ(ellipsize("abcdef", 2), "ab");
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
