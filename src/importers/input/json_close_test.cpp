#include "importers/input/json_close.h"

#include <gtest/gtest.h>

namespace sonde::importers {
namespace {

std::string closed(std::string document) {
  return close_json(document) ? document : std::string("none");
}

TEST(CloseJson, CutsBehindTheLastWholeValueWithBrackets) {
  EXPECT_EQ(closed(R"({"a":[{"b":1},{"c":2)"), R"({"a":[{"b":1}]})");
  EXPECT_EQ(closed(R"({"a":[{"b":"}]"},{"c":"\"}")"), R"({"a":[{"b":"}]"}]})");
  EXPECT_EQ(closed(R"({"a":[1,2],"b":tru)"), R"({"a":[1,2]})");
  EXPECT_EQ(closed(R"({"a":1} trailing {)"), R"({"a":1})");
  EXPECT_EQ(closed(R"({"a":1)"), "none");
  EXPECT_EQ(closed("]"), "none");
  EXPECT_EQ(closed("[}"), "none");
  EXPECT_EQ(closed(""), "none");
}

}  // namespace
}  // namespace sonde::importers
