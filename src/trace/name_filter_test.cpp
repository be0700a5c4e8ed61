#include "trace/name_filter.h"

#include <gtest/gtest.h>

namespace sonde::trace {
namespace {

TEST(NameFilter, FindsInRecordedAndDemangledNames) {
  const auto filter = NameFilter::compile("^add\\(float");
  ASSERT_TRUE(filter.ok());
  EXPECT_TRUE(filter->wants("_Z3addPf"));
  EXPECT_TRUE(filter->wants("add(float*)"));
  EXPECT_FALSE(filter->wants("_Z3addPi"));
  EXPECT_TRUE(NameFilter().wants("anything"));
  EXPECT_TRUE(NameFilter::compile("MT\\d+x\\d+_")->wants("Cijk_MT128x64_SN"));
  EXPECT_TRUE(NameFilter::compile("b$")->wants(std::string_view("a\0b", 3)));
}

TEST(NameFilter, WrongExpressionsAreOneLine) {
  for (const char* pattern : {"(", "[a", "*", "a{2", "(a)\\1", "[[:nothing:]]", "a{3,1}"}) {
    const auto filter = NameFilter::compile(pattern);
    ASSERT_FALSE(filter.ok()) << pattern;
    EXPECT_NE(filter.error().to_line().find(pattern), std::string::npos);
  }
  EXPECT_FALSE(NameFilter::compile(std::string(100000, '(')).ok());
}

TEST(NameFilter, LongNamesTakeLinearTime) {
  const auto filter = NameFilter::compile("(a|b)*c$");
  ASSERT_TRUE(filter.ok());
  EXPECT_FALSE(filter->wants(std::string(300000, 'a')));
  EXPECT_TRUE(filter->wants(std::string(300000, 'a') + "c"));
}

}  // namespace
}  // namespace sonde::trace
