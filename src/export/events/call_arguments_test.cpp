#include "export/events/call_arguments.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde::exporting {
namespace {

// "name:i5" for an integer, ":t" a text, ":j" JSON; "-" if it is one argument.
std::string shown(std::string_view text) {
  CallArguments arguments;
  if (!arguments.split(text)) return "-";
  std::string line = arguments.was_json() ? "{" : "";
  for (const CallArgument& argument : arguments.list()) {
    line += std::string(argument.name) + ":";
    if (argument.kind == CallArgument::Kind::kInteger) {
      line += "i" + std::to_string(argument.integer) + ";";
    } else {
      line += argument.kind == CallArgument::Kind::kText ? "t" : "j";
      line += std::string(argument.text) + ";";
    }
  }
  return line;
}

TEST(CallArguments, PairsAsRpdWritesThem) {
  EXPECT_EQ(shown("ptr = 0x7f10 | size = 64"), "ptr:t0x7f10;size:i64;");
  EXPECT_EQ(shown("n = -3"), "n:i-3;");
  EXPECT_EQ(shown("n = 007 | m = +1 | e = "), "n:t007;m:t+1;e:t;");
  EXPECT_EQ(shown("a = b = c"), "a:tb = c;");
}

TEST(CallArguments, MembersOfAJsonObject) {
  EXPECT_EQ(shown(R"({"dims": [[1, 2], []], "n": 5, "f": 0.10, "s": "x", "e": "a\"b"})"),
            R"({dims:j[[1, 2], []];n:i5;f:j0.10;s:tx;e:j"a\"b";)");
}

TEST(CallArguments, AnythingElseIsOne) {
  for (const char* const text : {"", "n=3", "free text", "a = 1 | free", "{}", "{broken", "= 1",
                                 "args = 1", "marker = 1", "sonde args = 1", " | "}) {
    EXPECT_EQ(shown(text), "-") << text;
  }
}

}  // namespace
}  // namespace sonde::exporting
