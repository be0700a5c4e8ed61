// Waves in the format of the software GPU.
#include "fault/waves.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/strings.h"

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

// A wave with four scalars, one vector register of 64 lanes and eight bytes of LDS.
TEST(Waves, RegistersFitEightyColumns) {
  std::string lanes;
  for (int lane = 0; lane < 64; ++lane)
    lanes += "000000" + std::string(lane < 10 ? "0" : "") + std::to_string(lane);
  Wave wave;
  wave.state = R"({"vcc": "0xff", "m0": "0x1", "mode": "0x2", "status": "0x3", "trapsts": "0x4", )"
               R"("sgprs": "0000000a0000000b0000000c0000000d", "vgprs": [")" +
               lanes + R"("], "agprs": [], "lds": "0102030405060708"})";
  const std::string text = registers_text(wave);
  EXPECT_NE(text.find("    vcc 00000000000000ff\n"), text.npos);
  EXPECT_NE(text.find("    s0   0000000a 0000000b 0000000c 0000000d\n"), text.npos);
  EXPECT_NE(text.find("    [56] 00000056 00000057"), text.npos);
  EXPECT_NE(text.find("    0    04030201 08070605\n"), text.npos);
  EXPECT_EQ(text.find("accumulators"), text.npos);
  for (const std::string_view line : split(text, '\n')) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace sonde::fault
