#include <fmt/format.h>
#include <gtest/gtest.h>

#include "importers/sink/sink_test_support.h"

namespace sonde::importers {

Importer rocprofv3_json_importer();

namespace {

constexpr int kKernels = 5000;  // more than a MiB, so that there are several windows

std::string kernels() {
  std::string text;
  for (int i = 0; i < kKernels; ++i) {
    text += fmt::format(
        R"({}{{"kind":1,"operation":0,"thread_id":8,"correlation_id":{{"internal":{}}},)"
        R"("start_timestamp":{},"end_timestamp":{},"dispatch_info":{{"agent_id":{{"handle":4}},)"
        R"("queue_id":{{"handle":3}},"kernel_id":1,"dispatch_id":{},)"
        R"("grid_size":{{"x":64,"y":1,"z":1}},"workgroup_size":{{"x":64,"y":1,"z":1}}}}}})",
        i == 0 ? "" : ",", i + 1, 1000 + 10 * i, 1005 + 10 * i, i);
  }
  return text;
}

std::string calls() {
  std::string text;
  for (int i = 0; i < kKernels; ++i) {
    text += fmt::format(R"({}{{"kind":2,"operation":1,"thread_id":8,"correlation_id":)"
                        R"({{"internal":{}}},"start_timestamp":{},"end_timestamp":{}}})",
                        i == 0 ? "" : ",", i + 1, 10 + i, 11 + i);
  }
  return text;
}

constexpr const char* kWords =
    R"("agents":[{"id":{"handle":4},"type":2,"product_name":"MI"}],
    "counters":[{"id":{"handle":9},"name":"SQ_WAVES"}],
    "strings":{"buffer_records":[{"kind":"NONE","operations":[]},
      {"kind":"KERNEL_DISPATCH","operations":["x"]},
      {"kind":"HIP_RUNTIME_API","operations":["none","hipLaunchKernel"]},
      {"kind":"MARKER_CORE_API","operations":["mark"]}],"marker_api":[{"key":100000,"value":"step {[\"1\"]}"}]},
    "kernel_symbols":[{"kernel_id":0},{"kernel_id":1,"kernel_name":"vadd.kd"}])";

std::string records() {
  return R"("callback_records":{"counter_collection":[{"dispatch_data":{"dispatch_info":)"
         R"({"dispatch_id":2}},"records":[{"counter_id":{"handle":9},"value":16.0}]}]},)"
         R"("buffer_records":{"kernel_dispatch":[)" +
         kernels() + R"(],"hip_api":[)" + calls() +
         R"(],"marker_api":[{"kind":3,"operation":0,"thread_id":8,"correlation_id":)"
         R"({"internal":100000},"start_timestamp":20,"end_timestamp":30}]})";
}

std::string process(int pid, const std::string& first, const std::string& second) {
  return fmt::format(R"({{"metadata":{{"pid":{},"command":["a","b"]}},{},{}}})", pid, first,
                     second);
}

std::string file(const std::string& processes) {
  return "{\"rocprofiler-sdk-tool\":" + processes + "}";
}

void expect_all(const ImportedText& made, size_t processes) {
  ASSERT_TRUE(made.status.ok());
  EXPECT_TRUE(made.tally.warnings().empty());
  ASSERT_EQ(made.sink.ops.size(), processes * kKernels);
  ASSERT_EQ(made.sink.apis.size(), processes * (kKernels + 1));
  for (const auto& op : made.sink.ops) {
    ASSERT_EQ(op.name, "vadd");
    ASSERT_TRUE(op.launched);
    // In the file the calls come after the kernels that they launched.
    const auto& call = made.sink.apis.at(static_cast<size_t>(op.launch.api) - 1);
    ASSERT_EQ(call.name, "hipLaunchKernel");
    ASSERT_EQ((op.row.start_ns - 1000) / 10, call.row.start_ns - 10);
    ASSERT_EQ(call.row.process, op.launch.process);
  }
  EXPECT_EQ(made.sink.apis.back().args, "step {[\"1\"]}");
}

TEST(Rocprofv3Json, RecordsAreReadInWindows) {
  const auto made = import_text(rocprofv3_json_importer(),
                                file("[" + process(7, kWords, records()) + "]"), "results.json");
  expect_all(made, 1);
  ASSERT_EQ(made.sink.op_counters.size(), 1u);
  EXPECT_EQ(made.sink.op_counters[0], (std::tuple(int64_t{3}, std::string("SQ_WAVES"), 16.0)));
}

TEST(Rocprofv3Json, OneProcessWithoutAList) {
  expect_all(import_text(rocprofv3_json_importer(), file(process(7, kWords, records()))), 1);
}

TEST(Rocprofv3Json, WordsBehindTheRecords) {
  expect_all(import_text(rocprofv3_json_importer(), file(process(7, records(), kWords))), 1);
}

TEST(Rocprofv3Json, SeveralProcessesAndOneWithoutRecords) {
  const auto made =
      import_text(rocprofv3_json_importer(),
                  file("[" + process(7, kWords, records()) + "," + process(8, kWords, "\"x\":[]") +
                       "," + process(9, kWords, records()) + "]"));
  expect_all(made, 2);
  EXPECT_EQ(made.sink.pids, (std::vector<int64_t>{7, 8, 9}));
}

TEST(Rocprofv3Json, ACutFileKeepsWhatIsWhole) {
  const std::string whole = file("[" + process(7, kWords, records()) + "]");
  const auto made =
      import_text(rocprofv3_json_importer(), whole.substr(0, whole.find("\"hip_api\"") + 300));
  ASSERT_TRUE(made.status.ok());
  EXPECT_EQ(made.sink.ops.size(), size_t{kKernels});
  ASSERT_EQ(made.tally.skipped().size(), 1u);
  EXPECT_EQ(made.tally.skipped()[0].what, "records cut off by the end of the file");
}

TEST(Rocprofv3Json, WhatIsNoneIsAnError) {
  for (const char* text : {"", "null", "{}", "{\"a\":[]}", "[1]", "{\"rocprofiler-sdk-tool\""}) {
    EXPECT_FALSE(import_text(rocprofv3_json_importer(), text).status.ok()) << text;
  }
}

}  // namespace
}  // namespace sonde::importers
