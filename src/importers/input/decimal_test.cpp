#include "importers/input/decimal.h"

#include <gtest/gtest.h>

namespace sonde::importers {
namespace {

// Of texts with three decimals; those of the first test are beyond the 2^53 of a double.
void expect_all(std::initializer_list<std::pair<const char*, int64_t>> numbers) {
  for (const auto& [text, number] : numbers) EXPECT_EQ(decimal_to_int(text, 3), number) << text;
}

TEST(Decimal, KeepsEveryNanosecondOfMicroseconds) {
  expect_all({{"2204338330237.582", 2204338330237582},
              {"9007199254740993.001", 9007199254740993001},
              {"9223372036854775.807", INT64_MAX},
              {"12", 12000},
              {"12.5", 12500},
              {"-0.001", -1},
              {"0", 0},
              {"0.000", 0}});
}

TEST(Decimal, RoundsWhatIsSmaller) {
  expect_all({{"1.23449", 1234},
              {"1.2345", 1235},
              {"1.9999", 2000},
              {"-1.9999", -2000},
              {"1.00000000000000000000000000001", 1000},
              {"0.00049", 0}});
}

TEST(Decimal, TakesExponents) {
  expect_all({{"1.5e3", 1500000},
              {"15E-1", 1500},
              {"1e+0", 1000},
              {"1e-30", 0},
              {"0e999999999999", 0},
              {"2204338330237582e-3", 2204338330237582}});
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
