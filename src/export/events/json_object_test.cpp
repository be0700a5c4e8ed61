#include "export/events/json_object.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde::exporting {
namespace {

TEST(JsonObject, GivesMembersAsTheyStand) {
  std::vector<JsonMember> members;
  ASSERT_TRUE(
      json_members(R"( {"a b": [1, {"c": "}"}], "q\"":-1.5e+3 ,"n":null,"é":"é"} )", members));
  ASSERT_EQ(members.size(), 4u);
  EXPECT_EQ(members[0].key, "a b");
  EXPECT_EQ(members[0].value, R"([1, {"c": "}"}])");
  EXPECT_EQ(members[1].key, R"(q\")");
  EXPECT_EQ(members[1].value, "-1.5e+3");
  EXPECT_EQ(members[3].value, "\"é\"");
  ASSERT_TRUE(json_members("{}", members));
  EXPECT_TRUE(members.empty());
}

TEST(JsonObject, RefusesWhatWouldBreakADocument) {
  std::vector<JsonMember> members;
  for (const char* text : {"",
                           "{",
                           "}",
                           "{a:1}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{\"a\":1}}",
                           "{\"a\":1} x",
                           "{\"a\":NaN}",
                           "{\"a\":01}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12g4\"}",
                           "{\"a\":[1,]}",
                           "{\"a\":\"\xff\"}",
                           "[1]",
                           "a = 1",
                           "{\"a\":tru}",
                           "{\"a\":1.}"}) {
    EXPECT_FALSE(json_members(text, members)) << text;
  }
  EXPECT_FALSE(json_members(std::string(100, '{'), members));
  EXPECT_FALSE(is_json(std::string(1000, '[') + std::string(1000, ']')));
}

TEST(JsonObject, KnowsValues) {
  for (const char* text : {"1", "-0.5", "true", "null", "\"a\"", "[]", "[[1],{}]", " 7 "}) {
    EXPECT_TRUE(is_json(text)) << text;
  }
  for (const char* text : {"", "abc", "1 2", "'a'", "2024-01-01", "0x1"}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

}  // namespace
}  // namespace sonde::exporting
