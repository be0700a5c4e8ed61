#include <gtest/gtest.h>

#include "fault/text.h"

namespace sonde::fault {
namespace {

TEST(Fit, LongLinesAreBrokenBehindTheirLabel) {
  EXPECT_EQ(fitted("sonde: GPU report\n"
                   "  likely cause  out of bounds: kernel work::overrun touches memory\n"
                   "  short         it is\n",
                   50),
            "sonde: GPU report\n"
            "  likely cause  out of bounds: kernel\n"
            "                work::overrun touches memory\n"
            "  short         it is\n");
}

TEST(Fit, WhatHasNoLabelGoesOnFourBehind) {
  EXPECT_EQ(
      fitted("      work::overrun(float*, float const*, int, long)  /a/path/of/its/own.hip:17", 60),
      "      work::overrun(float*, float const*, int, long)\n"
      "          /a/path/of/its/own.hip:17");
}

TEST(Fit, WhatCannotBeBrokenStaysWhole) {
  const std::string path(70, 'a');
  EXPECT_EQ(fitted("  at " + path + " there\n", 60), "  at\n      " + path + "\n      there\n");
}

TEST(Fit, NothingIsBrokenWithoutAWidthOrWhereItFits) {
  const std::string text = "  likely cause  out of bounds: kernel work::overrun touches memory\n";
  EXPECT_EQ(fitted(text, 0), text);
  EXPECT_EQ(fitted(text, 20), text);
  EXPECT_EQ(fitted(text, 200), text);
  EXPECT_EQ(fitted("", 60), "");
}

}  // namespace
}  // namespace sonde::fault
