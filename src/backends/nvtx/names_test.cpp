#include "backends/nvtx/names.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>

namespace sonde::nvtx {
namespace {

// The only agent function that these tests need.
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

TEST(Categories, BelongToTheirDomain) {
  const Agent agent = make_agent();
  static CategorySet set;  // entries are never removed
  name_category(set, 0, 5, "io", &agent);
  name_category(set, 1, 5, "net", &agent);
  EXPECT_EQ(category_name(set, 0, 5, &agent), interned("io"));
  EXPECT_EQ(category_name(set, 1, 5, &agent), interned("net"));
  EXPECT_EQ(category_name(set, 2, 5, &agent), interned("5"));
  EXPECT_EQ(category_name(set, 0, 0, &agent), 0u);
}

TEST(Categories, CanBeNamedLaterAndAgain) {
  const Agent agent = make_agent();
  static CategorySet set;  // entries are never removed
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
