#include "backends/markers/text_set.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace sonde::markers {
namespace {

uint32_t length_plus_100(const char*, size_t length) { return static_cast<uint32_t>(length) + 100; }

Text* add(TextSet& set, const std::string& text) {
  return find_or_add_text(set, text.data(), text.size());
}

TEST(TextSet, SameTextGivesTheSameHandle) {
  static TextSet set;  // entries are never removed
  Text* a = add(set, "a");
  EXPECT_STREQ(a->text, "a");
  EXPECT_EQ(add(set, "a"), a);
  EXPECT_NE(add(set, "b"), a);
  EXPECT_STREQ(add(set, "")->text, "");
  EXPECT_EQ(find_or_add_text(set, "abc", 1), a);
  EXPECT_EQ(a->index, 0u);
}

TEST(TextSet, InternedTextsAreNumberedFromOne) {
  Agent agent = {};
  agent.intern = length_plus_100;
  static TextSet set;  // entries are never removed
  EXPECT_EQ(find_or_add_interned(set, "x", &agent)->index, 1u);
  EXPECT_EQ(find_or_add_interned(set, "yy", &agent)->index, 2u);
  EXPECT_EQ(find_or_add_interned(set, "x", &agent)->index, 1u);
  EXPECT_EQ(find_or_add_interned(set, "yy", &agent)->interned, 102u);
  EXPECT_STREQ(find_or_add_interned(set, nullptr, &agent)->text, "");
}

TEST(TextSet, ThreadsAgreeOnHandlesAndObjects) {
  static TextSet set;  // entries are never removed
  std::vector<std::vector<void*>> found(8);
  std::vector<std::thread> threads;
  for (std::vector<void*>& mine : found) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 3000; ++i) {
        Text* text = add(set, std::to_string(i));
        mine.push_back(text);
        mine.push_back(object_of<int>(text, [i](int* object) { *object = i; }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<void*>& mine : found) EXPECT_EQ(mine, found[0]);
  EXPECT_EQ(std::set<void*>(found[0].begin(), found[0].end()).size(), 6000u);
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(*static_cast<int*>(found[0][2 * i + 1]), i);
}

}  // namespace
}  // namespace sonde::markers
