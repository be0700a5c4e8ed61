// The corrected sonde_* views, on all flavours and on the cases in which RPD's views are wrong.
#include "base/test_support.h"

#include <algorithm>
#include "store/fixtures_test_support.h"
#include "store/writer.h"

namespace sonde::store {
namespace {

using namespace testing;

constexpr const char* kCorrectedViews[] = {"sonde_op",     "sonde_api",     "sonde_top",
                                           "sonde_ktop",   "sonde_api_top", "sonde_busy",
                                           "sonde_kernel", "sonde_copy"};

class ViewsOfFlavour : public ::testing::TestWithParam<Flavour> {
 protected:
  ViewsOfFlavour() : reader_(open_reader(testing::make_example(directory_, GetParam()))) {}

  testing::TemporaryDirectory directory_;
  Reader reader_;
};

INSTANTIATE_TEST_SUITE_P(Flavours, ViewsOfFlavour, ::testing::ValuesIn(testing::kAllFlavours),
                         [](const auto& flavour) { return flavour_name(flavour.param); });

TEST_P(ViewsOfFlavour, TopCountsEqualOps) {
  EXPECT_EQ(
      rows(reader_,
           "SELECT name, calls, total_ns, round(mean_ns, 3), min_ns, "
           "max_ns, round(percentage, 3) FROM sonde_top"),
      (Lines{"axpy|3|250|83.333|50|100|45.455", "gemm|2|200|100.0|100|100|36.364",
             "CopyHostToDevice|1|100|100.0|100|100|18.182", "CopyDeviceToHost|1|0|0.0|0|0|0.0"}));
}

TEST_P(ViewsOfFlavour, KernelTopHasKernelsOnly) {
  EXPECT_EQ(rows(reader_, "SELECT name, calls, total_ns, round(percentage, 3) FROM sonde_ktop"),
            (Lines{"axpy|3|250|55.556", "gemm|2|200|44.444"}));
}

TEST_P(ViewsOfFlavour, BusyIsTheUnionOverTheOwnWindow) {
  EXPECT_EQ(rows(reader_,
                 "SELECT gpu_id, ops, busy_ns, sum_ns, span_ns, round(busy, 4), "
                 "round(rpd_busy, 4) FROM sonde_busy"),
            (Lines{"2|3|250|300|300|0.8333|0.2609", "3|4|150|250|250|0.6|0.2174"}));
}

TEST_P(ViewsOfFlavour, EveryKernelHasItsOwnName) {
  EXPECT_EQ(rows(reader_, "SELECT op_id, name, type FROM sonde_kernel ORDER BY op_id"),
            (Lines{"1|gemm|KernelExecution", "2|gemm|KernelExecution", "4|axpy|KernelExecution",
                   "5|axpy|KernelExecution", "6|axpy|Task"}));
  EXPECT_EQ(
      rows(reader_,
           "SELECT pid, tid, api_id, gpu_id, queue_id, start_ns, end_ns, duration_ns, grid_x, "
           "grid_y, grid_z, group_x, group_y, group_z, group_segment_bytes, "
           "private_segment_bytes, status FROM sonde_kernel WHERE op_id = 1"),
      Lines{"4711|4712|10|2|0|100|200|100|512|128|1|8|4|1|512|16|0"});
}

// RPD has one kernelapi row for a whole graph launch; only v1 knows more.
TEST_P(ViewsOfFlavour, KernelOfAGraphHasNoForeignGrid) {
  EXPECT_EQ(rows(reader_, "SELECT grid_x FROM sonde_kernel WHERE op_id = 6"),
            Lines{GetParam() == Flavour::kV1 ? "262144" : "-"});
}

// RPD's tracer stores what the call was given: groups of work items, or for two calls work items.
TEST_P(ViewsOfFlavour, GridsCountWorkItems) {
  const char* const grid = "SELECT grid_x, grid_y, grid_z FROM v_op_detail WHERE op_id = 1";
  EXPECT_EQ(rows(reader_, grid), Lines{"512|128|1"});
  for (const std::string call : {"hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel"}) {
    const testing::TemporaryDirectory directory;
    const std::string path = testing::make_example(directory, GetParam());
    testing::run_sql(path, "UPDATE rocpd_string SET string = '" + call + "' WHERE id = 2");
    Reader reader = open_reader(path);
    EXPECT_EQ(rows(reader, grid), Lines{"64|32|1"}) << call;
  }
}

TEST_P(ViewsOfFlavour, SizesThatMakeNoGridAreUnknown) {
  const testing::TemporaryDirectory directory;
  const std::string path = testing::make_example(directory, GetParam());
  const std::string table = GetParam() == Flavour::kV1 ? "rocpd_kernelop" : "rocpd_kernelapi";
  testing::run_sql(path, "UPDATE " + table +
                             " SET gridX = '', workgroupY = 0, gridZ = 1 << 62, workgroupZ = 4 "
                             "WHERE kernelName_id = 8");
  Reader reader = open_reader(path);
  EXPECT_EQ(rows(reader, "SELECT grid_x, grid_y, grid_z, group_z FROM v_op_detail WHERE op_id = 1"),
            Lines{"-|-|-|4"});
}

TEST_P(ViewsOfFlavour, CopiesHave64BitSizes) {
  EXPECT_EQ(rows(reader_,
                 "SELECT op_id, api_name, type, bytes, round(bytes_per_s) FROM "
                 "sonde_copy ORDER BY op_id"),
            (Lines{"3|hipMemcpyAsync|CopyHostToDevice|21474836480|2.147483648e+17",
                   "7|hipMemcpyAsync|CopyDeviceToHost|-|-"}));
}

TEST_P(ViewsOfFlavour, ApiKeepsCallsWithoutAName) {
  EXPECT_EQ(rows(reader_,
                 "SELECT id, duration_ns, domain, category, name, args FROM "
                 "sonde_api WHERE id IN (10, 14) ORDER BY id"),
            GetParam() == Flavour::kV3
                ? (Lines{"10|3|hip|api|hipLaunchKernel|n=4096", "14|3|hip|api|<string 99>|"})
                : (Lines{"10|3|-|-|hipLaunchKernel|n=4096", "14|3|-|-|<string 99>|"}));
  EXPECT_EQ(rows(reader_, "SELECT name, calls, total_ns FROM sonde_api_top ORDER BY name"),
            (Lines{"<string 99>|1|3", "hipGraphLaunch|1|3", "hipLaunchKernel|4|12",
                   "hipMemcpyAsync|2|6"}));
}

// A scan inside of a join would make 10 M ops take days.
TEST_P(ViewsOfFlavour, JoinsUseAnIndex) {
  for (const char* view : kCorrectedViews) {
    for (const std::string& step :
         rows(reader_, std::string("EXPLAIN QUERY PLAN SELECT * FROM ") + view)) {
      EXPECT_FALSE(has(step, "|SCAN") && has(step, "LEFT-JOIN")) << view << ": " << step;
    }
  }
}

TEST_P(ViewsOfFlavour, OpsSayWhetherTheyAreKernels) {
  EXPECT_EQ(
      rows(reader_,
           "SELECT id, name, type, duration_ns, is_kernel FROM sonde_op "
           "WHERE id IN (1, 3, 6) ORDER BY id"),
      (Lines{"1|gemm|KernelExecution|100|1", "3||CopyHostToDevice|100|0", "6|axpy|Task|50|1"}));
}

// The views that Sonde writes into its files and the ones it makes while reading agree.
TEST(SondeViews, AreTheSameInTheFile) {
  testing::TemporaryDirectory directory;
  const std::string path = directory / "trace.rpd";
  {
    auto writer = value_of(Writer::open(path, Writer::Mode::kCreate));
    const int64_t kernel_type = writer.string("KernelExecution");
    const int64_t copy_type = writer.string("CopyHostToDevice");
    for (int i = 0; i < 100; ++i) {
      ApiRow call{1, 2, i * 10, i * 10 + 4, writer.string("call" + std::to_string(i % 3)), 0, 0, 0};
      const int64_t api = writer.api(call);
      const bool kernel = i % 4 != 0;
      const int64_t op = writer.op({i % 2, i % 3, 0, i * 10 + 5, i * 10 + 5 + (i * 7) % 40,
                                    kernel ? writer.string("k" + std::to_string(i % 5)) : 0,
                                    kernel ? kernel_type : copy_type});
      writer.api_op(api, op);
      OpDetailRow detail;
      detail.op_id = op;
      detail.process_id = 1;
      detail.api_id = api;
      if (!kernel) detail.bytes = int64_t{5} << 32;
      writer.op_detail(detail);
    }
    ASSERT_TRUE(writer.finish().ok());
  }
  Reader reader = open_reader(path);
  EXPECT_TRUE(reader.made_by_sonde());
  for (const char* view : kCorrectedViews) {
    const auto temporary = rows(reader, std::string("SELECT * FROM temp.") + view);
    EXPECT_FALSE(temporary.empty()) << view;
    EXPECT_EQ(rows(reader, std::string("SELECT * FROM main.") + view), temporary) << view;
  }
}

constexpr const char* kKernelNames =
    "INSERT INTO rocpd_string VALUES (1, ''), (2, 'k'), (3, 'KernelExecution');";
Reader reader_of_kernels(const std::string& path, const std::string& rows_of_ops) {
  testing::run_sql(
      path, testing::ddl::v3() + kKernelNames + "INSERT INTO rocpd_op VALUES " + rows_of_ops + ";");
  return open_reader(path);
}

// RPD says 2.0 and 0.1 here.
TEST(SondeViews, BusyIsAtMostOneOnTwoDevices) {
  testing::TemporaryDirectory directory;
  Reader reader = reader_of_kernels(directory / "trace.rpd",
                                    "(1, 0, 0, 0, 0, 100, 2, 3), (2, 0, 1, 0, 0, 100, 2, 3), "
                                    "(3, 1, 0, 0, 50, 60, 2, 3)");
  EXPECT_EQ(rows(reader, "SELECT gpu_id, busy, rpd_busy FROM sonde_busy"),
            (Lines{"0|1.0|2.0", "1|1.0|0.1"}));
}

// Against a count of every single nanosecond.
TEST(SondeViews, BusyEqualsANanosecondCount) {
  testing::TemporaryDirectory directory;
  const std::string path = directory / "trace.rpd";
  std::string sql = kKernelNames;
  std::vector<std::vector<bool>> covered(3, std::vector<bool>(5000));
  uint32_t random = 12345;
  const auto next = [&random](uint32_t bound) {
    random = random * 1664525 + 1013904223;
    return (random >> 8) % bound;
  };
  for (int i = 0; i < 300; ++i) {
    const uint32_t gpu = next(3), start = next(4900), length = next(30);
    for (uint32_t t = start; t < start + length; ++t) covered[gpu][t] = true;
    sql +=
        "INSERT INTO rocpd_op (gpuId, queueId, sequenceId, start, \"end\", description_id, "
        "opType_id) VALUES (" +
        std::to_string(gpu) + ", 0, 0, " + std::to_string(start) + ", " +
        std::to_string(start + length) + ", 2, 3);";
  }
  testing::run_sql(path, "BEGIN;" + testing::ddl::v3() + sql + "COMMIT;");
  Reader reader = open_reader(path);
  for (size_t gpu = 0; gpu < covered.size(); ++gpu) {
    EXPECT_EQ(
        number(reader, "SELECT busy_ns FROM sonde_busy WHERE gpu_id = " + std::to_string(gpu)),
        std::count(covered[gpu].begin(), covered[gpu].end(), true));
  }
}

TEST(SondeViews, OddTimesAndEmptyFilesDoNoHarm) {
  testing::TemporaryDirectory directory;
  const std::string empty = directory / "empty.rpd";
  testing::run_sql(empty, testing::ddl::v3());
  Reader nothing = open_reader(empty);
  for (const char* view : kCorrectedViews) {
    EXPECT_TRUE(rows(nothing, std::string("SELECT * FROM ") + view).empty()) << view;
  }
  Reader reader = reader_of_kernels(directory / "odd.rpd",
                                    "(1, 0, 0, 0, 100, 40, 2, 3), (2, 1, 0, 0, 7, 7, 2, 3)");
  EXPECT_EQ(rows(reader, "SELECT gpu_id, busy_ns, sum_ns, span_ns, busy FROM sonde_busy"),
            (Lines{"0|0|0|0|-", "1|0|0|0|-"}));
  EXPECT_EQ(rows(reader, "SELECT name, calls, total_ns, percentage FROM sonde_top"),
            Lines{"k|2|0|-"});
}

TEST(SondeViews, BlogFiguresOfTheRealFiles) {
  const struct {
    const char* file;
    const char* top;
    const char* busy;
  } cases[] = {{"matmul_result.rpd", "CopyHostToDevice|2|157178|85.46092", "0.062049"},
               {"matmul_result_large.rpd", "CopyHostToDevice|2|1577218|74.727344", "0.427849"}};
  for (const auto& expected : cases) {
    const std::string path = test::real_file(std::string("rpd/") + expected.file);
    if (path.empty()) GTEST_SKIP() << expected.file << " is not on this machine";
    Reader reader = open_reader(path);
    EXPECT_EQ(rows(reader,
                   "SELECT Name, TotalCalls, TotalDuration, round(Percentage, 6) "
                   "FROM top LIMIT 1"),
              Lines{expected.top});
    EXPECT_EQ(rows(reader,
                   "SELECT name, calls, total_ns / 1000, round(percentage, 6) "
                   "FROM sonde_top LIMIT 1"),
              Lines{expected.top});
    EXPECT_EQ(rows(reader, "SELECT round(Busy, 6) FROM busy"), Lines{expected.busy});
    EXPECT_EQ(rows(reader, "SELECT round(rpd_busy, 6) FROM sonde_busy"), Lines{expected.busy});
  }
}

TEST(SondeViews, EveryKernelOfARealGraphTraceIsShown) {
  const std::string path = test::real_file("rpd/mytrace.rpd.gz");
  if (path.empty()) GTEST_SKIP() << "mytrace.rpd.gz is not on this machine";
  Reader reader = open_reader(path);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM sonde_kernel"), 8948);
  EXPECT_EQ(number(reader, "SELECT sum(calls) FROM sonde_ktop"), 8948);
  EXPECT_EQ(number(reader, "SELECT sum(calls) FROM sonde_top"), 10124);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM sonde_copy"), 1176);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM sonde_busy WHERE busy <= 1"), 1);
}

}  // namespace
}  // namespace sonde::store
