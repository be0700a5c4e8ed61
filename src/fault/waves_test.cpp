// Waves as the software GPU writes them.
#include "fault/waves.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace sonde::fault {
namespace {

std::string state(const char* why, int wave, int pc) {
  return R"({"line": "state", "why": ")" + std::string(why) +
         R"(", "pid": 7, "gpu": 0, "dispatch": 3, "group": 0, "wave": )" + std::to_string(wave) +
         R"(, "pc": ")" + std::to_string(pc) + "\"}\n";
}

TEST(Waves, AreWhereTheyWereAskedLast) {
  const std::string path = testing::TempDir() + "/waves.jsonl";
  std::ofstream(path) << state("demand", 0, 100) << state("demand", 1, 200)
                      << state("demand", 0, 300) << state("memory_fault", 0, 400)
                      << state("memory_fault", 0, 500);
  const std::vector<Wave> waves = read_waves(path, 7);
  std::remove(path.c_str());
  ASSERT_EQ(waves.size(), 4U);
  EXPECT_EQ(waves[0].number, 1U);
  EXPECT_EQ(waves[1].pc, 300U);
  EXPECT_EQ(waves[2].pc, 400U);
  EXPECT_EQ(waves[3].pc, 500U);
}

}  // namespace
}  // namespace sonde::fault
