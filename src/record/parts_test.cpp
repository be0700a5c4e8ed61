#include "record/parts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "record/drain_test_support.h"
#include "record/schedule.h"

namespace sonde::record {
namespace {

TEST(Parts, NamesHaveANumberBeforeTheExtension) {
  EXPECT_EQ(part_name("trace.rpd", 3), "trace.0003.rpd");
  EXPECT_EQ(part_name("a/b.c.rpd", 12345), "a/b.c.12345.rpd");
  EXPECT_EQ(base_of_part("a/b.c.12345.rpd"), "a/b.c.rpd");
  EXPECT_EQ(base_of_part("trace.0003.rpd"), "trace.rpd");
  EXPECT_EQ(base_of_part("trace.rpd"), std::nullopt);
  EXPECT_EQ(base_of_part("trace.rank3.rpd"), std::nullopt);
  EXPECT_EQ(base_of_part("trace.003.rpd"), std::nullopt);
}

TEST(Parts, AreFoundInTheOrderOfTheirNumbers) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "parts";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const char* name :
       {"t.10000.rpd", "t.9999.rpd", "t.0002.rpd", "t.rpd", "u.0001.rpd", "t.0001.rpd-journal"}) {
    std::ofstream(folder / name) << "x";
  }
  const std::vector<std::string> expected = {folder / "t.0002.rpd", folder / "t.9999.rpd",
                                             folder / "t.10000.rpd"};
  EXPECT_EQ(parts_of(folder / "t.rpd"), expected);
  std::filesystem::remove_all(folder);
}

class RotateTest : public DrainTest {};

TEST_F(RotateTest, APartThatIsReadForLongEndsLater) {
  wait_for(start(marks(1, 1000)));
  drain_->poll();
  ASSERT_TRUE(drain_->commit(true));
  Parts parts({.every_ns = 1}, session(), (*control_)->id, trace(), 0);
  const PartSinks sinks{writer_, ingest_, *drain_, nullptr};
  auto reader = store::Database::open(trace(), store::Database::Mode::kReadOnly);
  ASSERT_TRUE(reader && reader->exec("BEGIN; SELECT count(*) FROM rocpd_api"));
  writer_->database().wait_for_others(50);
  const auto first = parts.rotate(sinks);
  ASSERT_TRUE(first) << first.error().to_line();
  EXPECT_FALSE(*first);
  EXPECT_TRUE(parts.is_due(1));
  EXPECT_FALSE(fs::exists(folder_ + "/t.0002.rpd"));
  ASSERT_TRUE(reader->exec("COMMIT"));
  const auto second = parts.rotate(sinks);
  ASSERT_TRUE(second) << second.error().to_line();
  EXPECT_TRUE(*second);
  for (auto whole = parts.are_whole(); whole && !*whole; whole = parts.are_whole()) usleep(1000);
  end();
  EXPECT_EQ(rows("t0"), 1000);
  EXPECT_EQ(value("SELECT count(*) FROM sonde_ingest"), 0);
  EXPECT_TRUE(fs::exists(folder_ + "/t.0002.rpd"));
}

TEST(Schedule, ComesAgainAsOftenAsItIsTold) {
  Options options;
  EXPECT_TRUE(is_scheduled(options, 0));
  options.delay_ns = 10;
  options.duration_ns = 5;
  const auto on = [&](int64_t from, int64_t to) {
    int count = 0;
    for (int64_t at = from; at < to; ++at) count += is_scheduled(options, at) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(on(0, 100), 5);
  EXPECT_TRUE(is_scheduled(options, 10));
  EXPECT_FALSE(is_scheduled(options, 15));
  options.every_ns = 20;
  EXPECT_EQ(on(0, 90), 4 * 5);
  options.rounds = 2;
  EXPECT_EQ(on(0, 1000), 2 * 5);
  EXPECT_TRUE(is_scheduled(options, 34));
  EXPECT_FALSE(is_scheduled(options, 50));
}

}  // namespace
}  // namespace sonde::record
