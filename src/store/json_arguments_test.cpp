#include "store/json_arguments.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace sonde::store {
namespace {

std::string text_of(uint32_t id) { return id == 1 ? "float" : id == 2 ? "a \"b\"" : ""; }

std::string json(std::string_view description, const std::vector<uint64_t>& words) {
  std::string out;
  static std::string held;
  append_json_arguments(out, parse_argument_formats(description), words, [](uint32_t id) {
    held = text_of(id);
    return std::string_view(held);
  });
  return out;
}

// The length, and the bytes in as many words as they need.
std::vector<uint64_t> packed(std::vector<unsigned char> bytes, std::vector<uint64_t> more = {}) {
  std::vector<uint64_t> words(1 + (bytes.size() + 7) / 8);
  words[0] = bytes.size();
  std::memcpy(words.data() + 1, bytes.data(), bytes.size());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(JsonArguments, ListsAreWrittenAsKinetoWritesThem) {
  // [[2, 300], [], [[5]]]: odd = length of a list, even = a number; 300 * 2 = 0x258.
  EXPECT_EQ(json("{Input Dims:L}", packed({7, 5, 4, 0xd8, 4, 1, 3, 3, 10})),
            R"({"Input Dims":[[2,300],[],[[5]]]})");
  EXPECT_EQ(json("{Input type:N}", packed({7, 2, 0, 4})),
            R"({"Input type":["float","","a \"b\""]})");
}

TEST(JsonArguments, MembersThatAreMissingOrEmptyAreLeftOut) {
  const char* description = "{Input Dims:L|Input type:N|Sequence number:d|Fwd thread id:d}";
  EXPECT_EQ(json(description, {}), "");
  EXPECT_EQ(json(description, {0, 0}), "");
  EXPECT_EQ(json(description, {0, 0, 7, 1}), R"({"Sequence number":7,"Fwd thread id":1})");
  EXPECT_EQ(json(description, packed({3, 1}, {0, uint64_t(-1)})),
            R"({"Input Dims":[[]],"Sequence number":-1})");
}

TEST(JsonArguments, DamagedListsEndTheObject) {
  const char* description = "{a:d|b:L|c:d}";
  EXPECT_EQ(json(description, {1, 99}), R"({"a":1})");            // longer than the words
  EXPECT_EQ(json(description, {1, 1, 0xff, 3}), R"({"a":1})");    // a varint without end
  EXPECT_EQ(json(description, {1, 2, 0x0903, 3}), R"({"a":1})");  // a list longer than its bytes
  EXPECT_EQ(json("{b:L}", packed(std::vector<unsigned char>(64, 3))), "");  // too deep
}

TEST(JsonArguments, OtherKindsAreAsInPlainArguments) {
  EXPECT_EQ(json("{f:f|s:s}", {0x3ff8000000000000, 3, 0x632261}), R"({"f":1.5,"s":"a\"c"})");
}

}  // namespace
}  // namespace sonde::store
