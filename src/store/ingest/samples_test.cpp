// Samples of call stacks: records written word by word become frames, stacks and samples.
#include "store/frames.h"
#include "store/ingest/ingest_test_support.h"

namespace sonde::store::testing {

namespace {

std::string leb(uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7) text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}

// A frame in a module.
std::string in(uint32_t module, uint64_t offset) {
  return leb(uint64_t{module} << 1) + leb(offset);
}

Words module(uint32_t id, std::string_view build_id, std::string_view path) {
  const std::string content = std::string(build_id) + std::string(path);
  return record(
      wire::RecordType::kModule, id, 0,
      Words{0x1000, 0x1000, 0x9000, pair(build_id.size(), content.size())} + packed(content));
}

Words sample(uint64_t ticks, uint32_t frames, std::string_view content, uint8_t flags = 0) {
  return record(wire::RecordType::kSample, frames, flags,
                Words{ticks, 10'000'000, pair(2, 1500), content.size()} + packed(content));
}

Words blocked(uint64_t ticks, uint32_t tid, uint32_t frames, std::string_view content,
              uint8_t flags = 0) {
  return record(wire::RecordType::kBlocked, frames, flags,
                Words{ticks, 10'000'000, pair(tid, content.size())} + packed(content));
}

Words launch(uint64_t correlation, uint64_t offset) {
  const std::string content = in(20, offset);
  return record(wire::RecordType::kLaunchStack, 1, 0,
                Words{at(5), correlation, content.size()} + packed(content));
}

Words launched_call(uint64_t correlation, int64_t begin, int64_t end) {
  return record(wire::RecordType::kCall, 5, wire::kHasCorrelation,
                Words{at(begin), at(end), correlation});
}

const Words kModules = module(20, "\xab\x01", "/lib/a.so") + module(21, "", "/bin/prog");
const wire::ChunkHeader kDefinitions = ring(0x51, 100, 0);
const wire::ChunkHeader kRing = ring(0x51, 100, 1, 101);

constexpr const char* kPaths =
    "WITH RECURSIVE s(sample, id, path) AS (SELECT id, stack_id, '' FROM sonde_sample UNION ALL "
    "SELECT sample, parent_id, coalesce(m.path, '?') || '+' || f.address || ' ' || s.path FROM s "
    "JOIN sonde_stack k ON k.id = s.id JOIN sonde_frame f ON f.id = k.frame_id LEFT JOIN "
    "sonde_module m ON m.id = f.module_id) SELECT trim(path) FROM s WHERE id IS NULL ORDER BY "
    "sample";

struct SampleTest : ::testing::Test {
  SampleTest() { EXPECT_TRUE(feed(*file, kDefinitions, some_definitions() + kModules)); }
  Recording file{0, 1'000'000};
};

}  // namespace

// Recorded by another thread than the one that was blocked.
TEST_F(SampleTest, BlockedThreadsAreApart) {
  ASSERT_TRUE(feed(*file, kRing,
                   blocked(at(10), 4711, 2, in(20, 0x111) + in(21, 0x333)) +
                       sample(at(20), 2, in(20, 0x111) + in(21, 0x333)) +
                       blocked(at(30), 4712, 1, in(20, 0x111), 1)));
  file.finish();
  EXPECT_EQ(file.rows("select process_id, tid, time_ns, stack_id, wall_ns, truncated from "
                      "sonde_blocked order by id"),
            (Rows{"1|4711|10|2|10000000|0", "1|4712|30|3|10000000|1"}));
  EXPECT_EQ(file.rows("select tid, stack_id from sonde_sample"), (Rows{"101|2"}));
}

TEST_F(SampleTest, StacksShareTheirOuterFrames) {
  ASSERT_TRUE(feed(*file, kRing,
                   sample(at(10), 3, in(20, 0x111) + in(20, 0x222) + in(21, 0x333)) +
                       sample(at(20), 2, in(20, 0x444) + in(21, 0x333), 5) +
                       sample(at(30), 3, in(20, 0x111) + in(20, 0x222) + in(21, 0x333)) +
                       sample(at(40), 1, in(0, 0x7fffffff0000), 6)));
  file.finish();
  EXPECT_EQ(file.rows(kPaths),
            (Rows{"/bin/prog+819 /lib/a.so+546 /lib/a.so+273", "/bin/prog+819 /lib/a.so+1092",
                  "/bin/prog+819 /lib/a.so+546 /lib/a.so+273", "?+140737488289792"}));
  EXPECT_EQ(file.rows("select process_id, tid, time_ns, cpu_ns, missed, cost_ns, truncated, "
                      "by_timer from sonde_sample order by id"),
            (Rows{"1|101|10|10000000|2|1500|0|0", "1|101|20|10000000|2|1500|1|1",
                  "1|101|30|10000000|2|1500|0|0", "1|101|40|10000000|2|1500|2|1"}));
  EXPECT_EQ(file.value("select count(*) from sonde_stack"), "5");
  EXPECT_EQ(file.value("select count(*) from sonde_frame"), "5");
  EXPECT_EQ(file.rows("select path, build_id from sonde_module order by id"),
            (Rows{"/lib/a.so|ab01", "/bin/prog|"}));
  EXPECT_EQ(file.value("select samples, missed, truncated, cpu_ns, hz from sonde_sampling"),
            "4|8|2|40000000|100.0");
}

// Once, however many processes use it.
TEST_F(SampleTest, ThatKernelsOfCudaAreNotThereIsSaid) {
  EXPECT_EQ(file.value("select count(*) from sonde_diagnostic"), "0");
  const Words cuda = module(22, "\xab\x02", "/usr/lib/libcuda.so.1");
  ASSERT_TRUE(feed(*file, ring(0x51, 100, 2), cuda));
  ASSERT_TRUE(feed(*file, ring(0x52, 200, 0), some_definitions() + cuda));
  file.finish();
  EXPECT_EQ(file.rows("select severity, source, substr(text, 1, 26) from sonde_diagnostic"),
            (Rows{"warning|cuda|kernels and copies of CUDA"}));
}

TEST_F(SampleTest, ARecorderThatWasKilledGoesOnWithTheSameFrames) {
  const Words one = sample(at(10), 2, in(20, 0x111) + in(21, 0x333));
  ASSERT_TRUE(feed(*file, kRing, one));
  file.restore();
  file->clocks(reading(2'000'000));
  ASSERT_TRUE(feed(*file, kDefinitions, some_definitions() + kModules));
  ASSERT_TRUE(feed(*file, kRing, one));
  file.finish();
  EXPECT_EQ(file.value("select count(*), count(distinct stack_id) from sonde_sample"), "2|1");
  EXPECT_EQ(file.value("select count(*) from sonde_frame"), "2");
  EXPECT_EQ(file.value("select count(*) from sonde_module"), "2");
}

constexpr const char* kLaunches =
    "select a.start, f.address, l.truncated from sonde_launch_stack l join rocpd_api a on a.id = "
    "l.api_id join sonde_stack k on k.id = l.stack_id join sonde_frame f on f.id = k.frame_id "
    "order by 1";

// An inner call ends first; one that never ended, and one whose stack was lost, have none.
TEST_F(SampleTest, StacksOfLaunchesBelongToTheirCalls) {
  ASSERT_TRUE(feed(*file, kRing,
                   launch(71, 0x111) + launch(72, 0x222) + launched_call(72, 20, 30) +
                       launch(73, 0x333) + launched_call(71, 10, 40) + launched_call(74, 50, 60) +
                       launch(75, 0x111) + launched_call(73, 80, 81) + launched_call(75, 70, 90)));
  file.finish();
  EXPECT_EQ(file.rows(kLaunches), (Rows{"10|273|0", "20|546|0", "70|273|0"}));
  EXPECT_EQ(file.value("select count(*) from sonde_sample"), "0");
}

TEST_F(SampleTest, ALaunchThatTheRecorderWasKilledInHasItsStack) {
  ASSERT_TRUE(feed(*file, kRing, launch(71, 0x111) + launch(72, 0x222)));
  file.restore();
  file->clocks(reading(2'000'000));
  ASSERT_TRUE(feed(*file, kDefinitions, some_definitions() + kModules));
  ASSERT_TRUE(feed(*file, kRing, launched_call(72, 20, 30) + launched_call(71, 10, 40)));
  file.finish();
  EXPECT_EQ(file.rows(kLaunches), (Rows{"10|273|0", "20|546|0"}));
}

TEST_F(SampleTest, WhatMakesNoSenseIsCounted) {
  // More frames than there are, a number that does not end, and a length beyond the record.
  ASSERT_TRUE(feed(*file, kRing, sample(at(10), 3, in(20, 0x111))));
  ASSERT_TRUE(feed(*file, kRing, sample(at(20), 1, "\xff\xff\xff\xff")));
  ASSERT_TRUE(feed(*file, kRing, sample(at(30), 0, "")));
  Words damaged = sample(at(40), 1, in(20, 0x111));
  damaged[4] = pair(4000, 0);
  EXPECT_FALSE(feed(*file, kRing, damaged));
  file.finish();
  EXPECT_EQ(file.value("select count(*) from sonde_sample"), "0");
  EXPECT_EQ(file.value("select source, reason, count from sonde_drop"), "samples|malformed|2");
}

}  // namespace sonde::store::testing
