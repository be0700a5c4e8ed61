#include "store/arguments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace sonde::store {
namespace {

std::string print(std::string_view description, std::vector<uint64_t> words) {
  std::string out;
  append_arguments(out, parse_argument_formats(description), words);
  return out;
}

uint64_t bits(double value) {
  uint64_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

uint64_t letters(std::string_view text) {
  uint64_t word = 0;
  std::memcpy(&word, text.data(), text.size());
  return word;
}

TEST(Arguments, EachKindIsPrintedItsWay) {
  EXPECT_EQ(print("a:p b:x c:u d:d e:f f:s",
                  {0xbeef, 255, ~uint64_t{0}, ~uint64_t{0}, bits(0.5), 5, letters("hello")}),
            "a = 0xbeef | b = 0xff | c = 18446744073709551615 | d = -1 | e = 0.5 | f = \"hello\"");
  EXPECT_EQ(print("a:p b:f c:?", {0, bits(std::nan("")), 16}), "a = 0x0 | b = nan | c = 0x10");
}

TEST(Arguments, TextTakesItsWords) {
  EXPECT_EQ(print("a:s b:u", {0, 7}), "a = \"\" | b = 7");
  EXPECT_EQ(print("a:s b:u", {8, letters("12345678"), 7}), "a = \"12345678\" | b = 7");
  EXPECT_EQ(print("a:s b:u", {9, letters("12345678"), letters("9"), 7}),
            "a = \"123456789\" | b = 7");
}

TEST(Arguments, TheTextEndsWhereWordsAreMissing) {
  EXPECT_EQ(print("a:u b:u", {1}), "a = 1");
  EXPECT_EQ(print("a:u b:s", {1}), "a = 1");
  EXPECT_EQ(print("a:u b:u", {}), "");
  EXPECT_EQ(print("a:u b:s c:u", {1, 9, letters("12345678")}), "a = 1");
  EXPECT_EQ(print("a:s", {~uint64_t{0}, 0}), "");
  EXPECT_EQ(print("a:s", {uint64_t{1} << 61, 0}), "");
}

TEST(Arguments, WordsLeftOverAreNotPrinted) {
  EXPECT_EQ(print("a:u", {1, 2, 3}), "a = 1");
  EXPECT_EQ(print("", {1, 2, 3}), "");
}

TEST(Arguments, OddDescriptions) {
  const auto names = [](std::string_view description) {
    std::string all;
    for (const auto& format : parse_argument_formats(description)) {
      all += format.name + "/" + format.kind + " ";
    }
    return all;
  };
  EXPECT_EQ(names("a:u b:p"), "a/u b/p ");
  EXPECT_EQ(names("  a:u   b:p "), "a/u b/p ");
  EXPECT_EQ(names("a::u a:b:x"), "a:/u a:b/x ");
  EXPECT_EQ(names("a: :u a :"), "");
  EXPECT_EQ(names("a:unsigned"), "a/u ");
}

TEST(Arguments, AnyWordsAreSafe) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string description;
    for (size_t n = random() % 6; n > 0; --n) {
      description += std::string("n:") + "spxudf"[random() % 6] + " ";
    }
    std::vector<uint64_t> words(random() % 8);
    for (auto& word : words) word = random() % 3 == 0 ? random() : random() % 40;
    const auto text = print(description, words);
    EXPECT_TRUE(text.empty() || text.rfind("n = ", 0) == 0);
  }
}

}  // namespace
}  // namespace sonde::store
