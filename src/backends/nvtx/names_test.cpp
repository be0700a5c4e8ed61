#include "backends/nvtx/names.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace sonde::nvtx {
namespace {

// The one function of the agent that these need.
uint32_t test_intern(const char* text, size_t length) {
  static std::mutex lock;
  static std::map<std::string, uint32_t> ids;
  const std::lock_guard<std::mutex> guard(lock);
  return ids.emplace(std::string(text, length), ids.size() + 1).first->second;
}

Agent make_agent() {
  Agent agent = {};
  agent.intern = test_intern;
  return agent;
}

uint32_t interned(const std::string& text) { return test_intern(text.data(), text.size()); }

TEST(Names, SameTextGivesTheSameHandle) {
  NameSet set = {};
  Name* a = find_or_add_string(set, "a");
  EXPECT_STREQ(a->text, "a");
  EXPECT_EQ(find_or_add_string(set, "a"), a);
  EXPECT_NE(find_or_add_string(set, "b"), a);
  EXPECT_STREQ(find_or_add_string(set, nullptr)->text, "");
  EXPECT_EQ(find_or_add_string(set, ""), find_or_add_string(set, nullptr));
}

TEST(Names, DomainsAreNumberedFromOne) {
  const Agent agent = make_agent();
  NameSet set = {};
  EXPECT_EQ(find_or_add_domain(set, "x", &agent)->index, 1u);
  EXPECT_EQ(find_or_add_domain(set, "y", &agent)->index, 2u);
  EXPECT_EQ(find_or_add_domain(set, "x", &agent)->index, 1u);
  EXPECT_EQ(find_or_add_domain(set, "y", &agent)->interned, interned("y"));
}

TEST(Names, ThreadsAgreeOnHandles) {
  NameSet set = {};
  std::vector<std::vector<Name*>> found(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&set, mine = &found[t]] {
      for (int i = 0; i < 3000; ++i) {
        mine->push_back(find_or_add_string(set, std::to_string(i).c_str()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Name*>& mine : found) EXPECT_EQ(mine, found[0]);
  EXPECT_EQ(std::set<Name*>(found[0].begin(), found[0].end()).size(), 3000u);
}

TEST(Categories, BelongToTheirDomain) {
  const Agent agent = make_agent();
  CategorySet set = {};
  name_category(set, 0, 5, "io", &agent);
  name_category(set, 1, 5, "net", &agent);
  EXPECT_EQ(category_name(set, 0, 5, &agent), interned("io"));
  EXPECT_EQ(category_name(set, 1, 5, &agent), interned("net"));
  EXPECT_EQ(category_name(set, 2, 5, &agent), interned("5"));
  EXPECT_EQ(category_name(set, 0, 0, &agent), 0u);
}

TEST(Categories, CanBeNamedLaterAndAgain) {
  const Agent agent = make_agent();
  CategorySet set = {};
  EXPECT_EQ(category_name(set, 0, 9, &agent), interned("9"));
  name_category(set, 0, 9, "nine", &agent);
  EXPECT_EQ(category_name(set, 0, 9, &agent), interned("nine"));
  name_category(set, 0, 9, "NINE", &agent);
  EXPECT_EQ(category_name(set, 0, 9, &agent), interned("NINE"));
  name_category(set, 0, 9, nullptr, &agent);
  EXPECT_EQ(category_name(set, 0, 9, &agent), interned("NINE"));
}

}  // namespace
}  // namespace sonde::nvtx
