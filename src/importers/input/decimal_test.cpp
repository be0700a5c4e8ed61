#include "importers/input/decimal.h"

#include <gtest/gtest.h>

namespace sonde::importers {
namespace {

TEST(Decimal, KeepsEveryNanosecondOfMicroseconds) {
  EXPECT_EQ(decimal_to_int("2204338330237.582", 3), 2204338330237582);
  EXPECT_EQ(decimal_to_int("9007199254740993.001", 3), 9007199254740993001);  // beyond 2^53
  EXPECT_EQ(decimal_to_int("9223372036854775.807", 3), INT64_MAX);
  EXPECT_EQ(decimal_to_int("12", 3), 12000);
  EXPECT_EQ(decimal_to_int("12.5", 3), 12500);
  EXPECT_EQ(decimal_to_int("-0.001", 3), -1);
  EXPECT_EQ(decimal_to_int("0", 3), 0);
  EXPECT_EQ(decimal_to_int("0.000", 3), 0);
}

TEST(Decimal, RoundsWhatIsSmaller) {
  EXPECT_EQ(decimal_to_int("1.23449", 3), 1234);
  EXPECT_EQ(decimal_to_int("1.2345", 3), 1235);
  EXPECT_EQ(decimal_to_int("1.9999", 3), 2000);
  EXPECT_EQ(decimal_to_int("-1.9999", 3), -2000);
  EXPECT_EQ(decimal_to_int("1.00000000000000000000000000001", 3), 1000);
  EXPECT_EQ(decimal_to_int("0.00049", 3), 0);
}

TEST(Decimal, TakesExponents) {
  EXPECT_EQ(decimal_to_int("1.5e3", 3), 1500000);
  EXPECT_EQ(decimal_to_int("15E-1", 3), 1500);
  EXPECT_EQ(decimal_to_int("1e+0", 3), 1000);
  EXPECT_EQ(decimal_to_int("1e-30", 3), 0);
  EXPECT_EQ(decimal_to_int("0e999999999999", 3), 0);
  EXPECT_EQ(decimal_to_int("2204338330237582e-3", 3), 2204338330237582);
}

TEST(Decimal, RefusesWhatIsNoNumberOrDoesNotFit) {
  for (const char* text : {"", "-", ".", "NaN", "Infinity", "1.2.3", "0x10", "1e", "1e+", "e3",
                           "1 2", "--1", "null", "\"1\""}) {
    EXPECT_EQ(decimal_to_int(text, 3), std::nullopt) << text;
  }
  EXPECT_EQ(decimal_to_int("9223372036854775.808", 3), std::nullopt);
  EXPECT_EQ(decimal_to_int("99999999999999999999999", 3), std::nullopt);
  EXPECT_EQ(decimal_to_int("1e30", 3), std::nullopt);
}

}  // namespace
}  // namespace sonde::importers
