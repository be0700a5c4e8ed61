#include "backends/rocm/hsa/counter_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sonde::hsa {
namespace {

struct Read {
  bool good;
  std::vector<std::string> counters;
};

Read read(const char* text, const char* gpu) {
  Read read{};
  read.good = each_wanted(
      text, gpu,
      [](const WantedCounter& counter, void* data) {
        static_cast<Read*>(data)->counters.push_back(
            std::string(counter.block) + " " + std::to_string(counter.event) + " " + counter.name);
      },
      &read);
  return read;
}

TEST(CounterRequest, HasTheCountersOfEachGpu) {
  const char* const text = "3;gfx90a=SQ:4:SQ_WAVES,TCC:17:TCC_HIT;gfx906=TCC:20:TCC_HIT";
  EXPECT_EQ(pass_of(text), 3u);
  EXPECT_EQ(read(text, "gfx90a").counters,
            (std::vector<std::string>{"SQ 4 SQ_WAVES", "TCC 17 TCC_HIT"}));
  EXPECT_EQ(read(text, "gfx906").counters, (std::vector<std::string>{"TCC 20 TCC_HIT"}));
  EXPECT_TRUE(read(text, "gfx90").counters.empty());
  EXPECT_TRUE(read(text, "gfx1030").good);
  EXPECT_TRUE(read("1", "gfx90a").counters.empty());
}

TEST(CounterRequest, MayHaveSeveralPasses) {
  const char* const first = "1;gfx906=SQ:1:A|2;gfx90a=SQ:2:B,SQ:3:C;gfx906=SQ:4:D|3";
  const char* const second = next_pass(first);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(pass_of(second), 2u);
  EXPECT_TRUE(read(first, "gfx90a").counters.empty());
  EXPECT_EQ(read(first, "gfx906").counters, (std::vector<std::string>{"SQ 1 A"}));
  EXPECT_EQ(read(second, "gfx90a").counters, (std::vector<std::string>{"SQ 2 B", "SQ 3 C"}));
  EXPECT_EQ(read(second, "gfx906").counters, (std::vector<std::string>{"SQ 4 D"}));
  const char* const third = next_pass(second);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(pass_of(third), 3u);
  EXPECT_EQ(next_pass(third), nullptr);
}

TEST(CounterRequest, OtherTextsAreRefused) {
  for (const char* text :
       {"1;gfx90a=SQ", "1;gfx90a=SQ:x:A", "1;gfx90a=:4:A", "1;gfx90a=SQ:4:", "1;gfx90a=SQ:4",
        "1;gfx90a=SQ:4294967296:A", "1;gfx90a=ABCDEFGHIJKLMNOP:1:A"}) {
    EXPECT_FALSE(read(text, "gfx90a").good) << text;
    EXPECT_TRUE(read(text, "gfx90a").counters.empty()) << text;
  }
}

TEST(CounterRequest, DispatchesAreNumbersAndRanges) {
  EXPECT_TRUE(in_ranges(nullptr, 7));
  EXPECT_TRUE(in_ranges("", 7));
  for (const uint64_t number : {0, 4, 5, 7}) EXPECT_TRUE(in_ranges("0,4:7", number)) << number;
  for (const uint64_t number : {1, 3, 8}) EXPECT_FALSE(in_ranges("0,4:7", number)) << number;
  EXPECT_FALSE(in_ranges("x", 0));
}

}  // namespace
}  // namespace sonde::hsa
