#include "base/free_name.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_support.h"

namespace sonde {
namespace {

TEST(FreeName, TakesTheNextNumberAndKeepsTheExtension) {
  const test::TemporaryDirectory folder;
  const auto touch = [&](const char* name) { std::ofstream(folder / name) << "x"; };
  const auto free = [&](const char* name, std::string_view extension = {}) {
    return std::filesystem::path(free_name(folder / name, extension)).filename().string();
  };
  EXPECT_EQ(free("trace.rpd"), "trace.rpd");
  touch("trace.rpd");
  EXPECT_EQ(free("trace.rpd"), "trace-2.rpd");
  touch("trace-2.rpd");
  EXPECT_EQ(free("trace.rpd"), "trace-3.rpd");
  touch("t.json.gz");
  EXPECT_EQ(free("t.json.gz", ".json.gz"), "t-2.json.gz");
  touch("plain");
  EXPECT_EQ(free("plain"), "plain-2");
  std::filesystem::create_symlink("nowhere", folder / "link.rpd");
  EXPECT_EQ(free("link.rpd"), "link-2.rpd");
}

}  // namespace
}  // namespace sonde
