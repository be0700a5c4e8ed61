#include "store/recording.h"

#include <gtest/gtest.h>

#include "store/fixtures_test_support.h"
#include "store/writer.h"

namespace sonde::store {
namespace {

using namespace testing;

// The machine's GPUs 0, 1 and 2, of which the program has used 1 as 0, and of an earlier recording.
TEST(Recording, MetricsOfGpusGetTheTracesNumbersOnce) {
  const TemporaryDirectory folder;
  Writer writer = value_of(Writer::open(folder / "t.rpd", Writer::Mode::kCreate));
  Database& database = writer.database();
  for (int64_t gpu = 0; gpu < 3; ++gpu) {
    for (const int64_t start_ns : {50, 150}) {
      writer.monitor({"gpu", "busy_percent", std::to_string(gpu), gpu, start_ns, start_ns + 1});
    }
  }
  expect_ok(writer.commit());
  expect_ok(
      database.exec("INSERT INTO sonde_device (gpu_id, location) VALUES (0, '0000:B2:00.0')"));
  expect_ok(keep_metric_gpus(
      database, {100, {{0, "0000:a1:00.0"}, {1, "0000:b2:00.0"}, {2, "0000:c3:00.0"}}}));
  const std::string sql = "select start, value, deviceId from rocpd_monitor order by 1, 2";
  const Lines expected = {"50|0|0", "50|1|1", "50|2|2", "150|0|1", "150|1|0", "150|2|2"};
  for (int round = 0; round < 2; ++round) {
    expect_ok(renumber_gpu_metrics(database));
    EXPECT_EQ(rows(database, sql), expected) << round;
  }
}

}  // namespace
}  // namespace sonde::store
