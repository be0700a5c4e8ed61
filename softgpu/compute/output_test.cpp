#include "compute/output.h"

#include <gtest/gtest.h>

#include <bit>

namespace softgpu {
namespace {

PrintArgument number(uint64_t value) { return {false, value, {}}; }
PrintArgument real(double value) { return {false, std::bit_cast<uint64_t>(value), {}}; }
PrintArgument text(std::string value) { return {true, 0, std::move(value)}; }

TEST(FormatPrint, PrintsWhatPrintfPrints) {
  char expected[256];
  std::snprintf(expected, sizeof(expected), "%5d|%-6u|%08.3f|%s|%c|%%|%#llx|%+d|%.2e", -42, 17u,
                3.14159, "text", 'q', 0x1234567890abull, 7, 12345.678);
  EXPECT_EQ(format_print("%5d|%-6u|%08.3f|%s|%c|%%|%#llx|%+d|%.2e",
                         {number(uint64_t(-42)), number(17), real(3.14159), text("text"),
                          number('q'), number(0x1234567890ab), number(7), real(12345.678)}),
            expected);
}

TEST(FormatPrint, TakesIntegersAsWideAsTheModifierSays) {
  EXPECT_EQ(format_print("%d %hhd %hu %ld",
                         {number(0xffffffff), number(0xff), number(0x12345), number(uint64_t(-5))}),
            "-1 -1 9029 -5");
}

TEST(FormatPrint, TakesWidthAndPrecisionFromArguments) {
  EXPECT_EQ(format_print("[%*d][%.*f]", {number(6), number(42), number(1), real(2.55)}),
            "[    42][2.5]");
}

TEST(FormatPrint, MissingArgumentsAndUnknownConversionsAreHarmless) {
  EXPECT_EQ(format_print("%d %s %n %", {}), "0 (null)  ");
}

TEST(FormatPrint, LongNumbersAreWhole) {
  EXPECT_EQ(format_print("%.0f", {real(1e300)}).size(), 301u);
  EXPECT_EQ(format_print("%600.1f", {real(1)}).size(), 600u);
}

TEST(PrintedTexts, WritesOnlyWholeTexts) {
  testing::internal::CaptureStdout();
  PrintedTexts texts;
  uint64_t first = texts.begin(false);
  uint64_t second = texts.begin(false);
  const uint64_t values[] = {1, 2};
  texts.add_text(first, std::string_view("a %d %s\n\0", 9), false);
  texts.add_text(second, "b %d %d\n", false);
  texts.add_values(first, values, 1, false);
  texts.add_values(second, values, 2, true);
  texts.add_text(first, "end", true);
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "b 1 2\na 1 end\n");
}

}  // namespace
}  // namespace softgpu
