#include "analysis/analysis_test_support.h"
#include "analysis/arguments.h"

namespace sonde::analysis {
namespace {

ApiRow torch(int64_t time, int64_t bytes, int64_t in_use, int type = 1) {
  ApiRow row{"cpu_instant_event", "[memory]", time, time};
  row.args = fmt::format(
      R"({{"Total Reserved": 4096, "Total Allocated": {}, "Bytes": {}, "Device Id": {}, )"
      R"("Device Type": {}, "Addr": 140255988547584}})",
      in_use, bytes, type == 0 ? -1 : 0, type);
  return row;
}

TEST(Memory, TorchSaysWhatIsInUse) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cpu_op", "aten::empty", 5, 40});
  rows.add(ApiRow{"python_function", "train.py(3): step", 0, 100});
  rows.add(torch(10, 1000, 3000));
  rows.add(torch(20, 500, 3500));
  rows.add(torch(50, -1000, 2500));
  rows.add(torch(60, 64, 0, 0));
  const auto report = ask("memory", rows);
  EXPECT_EQ(lines_of(report, "memory",
                     {"device", "allocations", "frees", "allocated_bytes", "freed_bytes",
                      "peak_in_use_bytes", "peak_at_ns", "last_in_use_bytes"}),
            (Lines{"GPU 0|2|1|1500|1000|3500|20|2500", "CPU|1|0|64|0|64|60|64"}));
  EXPECT_EQ(
      lines_of(report, "sites", {"device", "operator", "frame", "allocations", "total_bytes"}),
      (Lines{"GPU 0|aten::empty|train.py(3): step|2|1500", "CPU|-|train.py(3): step|1|64"}));
  const auto& charts = section_of(report, "series").charts;
  ASSERT_EQ(charts.size(), 1u);
  ASSERT_EQ(charts[0].series.size(), 2u);  // the CPU's is 64 bytes at the end
  EXPECT_EQ(charts[0].series[0].values, (std::vector<double>{3000, 3500, 2500}));
  EXPECT_EQ(charts[0].series[0].places, (std::vector<double>{10, 19, 49}));
  EXPECT_EQ(charts[0].series[1].values, (std::vector<double>{64}));
  ASSERT_EQ(report.notes.size(), 1u);  // of the CPU only
  EXPECT_EQ(report.notes[0].rfind("CPU: ", 0), 0u);
}

TEST(Memory, CallsOfARuntimeArePaired) {
  trace::TraceBuilder rows;
  const auto call = [&](const char* name, int64_t time, const char* args) {
    ApiRow row{"", name, time, time + 1};
    row.args = args;
    rows.add(row);
  };
  call("hipMalloc", 10, "ptr = 0x7f00 | size = 4096");
  call("hipMalloc", 20, "ptr = 0x8f00 | size = 100");
  call("hipFree", 30, "ptr = 0x7f00");
  call("hipFree", 40, "ptr = 0x1234");
  call("hipFree", 50, "ptr = 0x0");
  call("hipLaunchKernel", 60, "size = 7 | ptr = 0x7f00");
  const auto report = ask("memory", rows);
  EXPECT_EQ(lines_of(report, "memory",
                     {"device", "allocations", "frees", "peak_in_use_bytes", "last_in_use_bytes"}),
            (Lines{"GPU|2|1|4196|100"}));
  EXPECT_EQ(report.notes.size(), 2u);
}

// In a merged file: the same device number and the same address, of two ranks.
TEST(Memory, ProcessesHaveMemoryOfTheirOwn) {
  trace::TraceBuilder rows;
  rows.set_rank(11, 0);
  rows.set_rank(12, 1);
  for (const int64_t pid : {11, 12}) {
    ApiRow of_torch = torch(10, 1000 * (pid - 10), 3000 * (pid - 10));
    of_torch.pid = pid;
    rows.add(of_torch);
    rows.add({"", "hipMalloc", 20, 21, 1, pid, "", "ptr = 0x7f00 | size = 64"});
  }
  rows.add({"", "hipFree", 30, 31, 1, 11, "", "ptr = 0x7f00"});
  EXPECT_EQ(lines_of(ask("memory", rows), "memory",
                     {"device", "allocated_bytes", "peak_in_use_bytes", "last_in_use_bytes"}),
            (Lines{"GPU 0 of rank 0|1000|3000|3000", "GPU 0 of rank 1|2000|6000|6000",
                   "GPU of rank 0|64|64|0", "GPU of rank 1|64|64|64"}));
}

// Of a merged file, whose second part numbers its GPUs from 1000 on.
TEST(Memory, OfOneGpu) {
  trace::TraceBuilder rows;
  for (const int64_t pid : {11, 10'000'012}) {
    ApiRow of_torch = torch(10, pid == 11 ? 1000 : 2000, 3000);
    of_torch.pid = pid;
    rows.add(of_torch);
  }
  rows.add(torch(20, 64, 0, 0));  // of the CPU
  trace::Request request = needs_of("memory");
  request.gpu = 1000;
  const auto report = value_of(run_analysis("memory", rows.build(0, request)));
  EXPECT_EQ(lines_of(report, "memory", {"device", "allocated_bytes"}),
            (Lines{"GPU 0 of process 10000012|2000"}));
  EXPECT_EQ(report.notes.front().substr(0, 8), "2 events");
}

TEST(Memory, ArgumentsOfBothForms) {
  EXPECT_EQ(number_argument(R"({"Bytes": -12, "Addr": 3})", "Bytes"), -12);
  EXPECT_EQ(number_argument("a = 1 | size = 0x10", "size"), 16);
  EXPECT_EQ(number_argument("ptr=0x7f | size=0x10", "size"), 16);
  EXPECT_EQ(number_argument("sizes = 1", "size"), std::nullopt);
  EXPECT_EQ(number_argument(R"({"Bytes": "many"})", "Bytes"), std::nullopt);
  EXPECT_EQ(number_argument("", "Bytes"), std::nullopt);
}

}  // namespace
}  // namespace sonde::analysis
