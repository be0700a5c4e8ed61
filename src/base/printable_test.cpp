#include "base/printable.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Printable, TakesControlCharactersAndMarksOfDirectionOut) {
  EXPECT_EQ(printable("a\x1b[31mb", Lines::kJoin), "a [31mb");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31mb",
                      Lines::kJoin),
            "a\xef\xbf\xbd"
            "31mb");
  for (const char* const mark : {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa",
                                 "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
    EXPECT_EQ(printable(std::string("a") + mark + "b", Lines::kKeep),
              "a\xef\xbf\xbd"
              "b");
  }
  EXPECT_EQ(printable("a\rb\x7f"
                      "c\x01",
                      Lines::kKeep),
            "a b c ");
  EXPECT_EQ(printable("\xff", Lines::kKeep), "\xef\xbf\xbd");
}

TEST(Printable, KeepsEverythingElse) {
  const std::string text =
      "\xc3\xa9\xe6\xbc\xa2 \xc2\xa0 \xe2\x80\x93 \xf0\x9f\x99\x82 \xe2\x80\xaf";
  EXPECT_EQ(printable(text, Lines::kJoin), text);
  EXPECT_EQ(printable("a\n\tb", Lines::kKeep), "a\n\tb");
  EXPECT_EQ(printable("a\n\tb", Lines::kJoin), "a  b");
}

TEST(Printable, LetsColoursOfTheOutputPassAndNothingElse) {
  std::string safe;
  EXPECT_TRUE(is_safe_output("\x1b[1mtitle\x1b[0m\n1\t2\n", safe));
  EXPECT_FALSE(is_safe_output("\x1b[1mt\x1b[0m\x1b]0;title\x07 \x1b[2J\xc2\x9b\n", safe));
  EXPECT_EQ(safe, "\x1b[1mt\x1b[0m ]0;title   [2J\xef\xbf\xbd\n");
  EXPECT_FALSE(is_safe_output("\x1b[8m\x1b[33mhidden\x1b[31;40m", safe));
  EXPECT_EQ(safe, " [8m\x1b[33mhidden [31;40m");
  EXPECT_FALSE(is_safe_output("\x1b[12;", safe));  // cut off
  EXPECT_EQ(safe, " [12;");
}

}  // namespace
}  // namespace sonde
