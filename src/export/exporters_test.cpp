// Exports of a file that Sonde's own Writer made; those of other tools' files are judged by
// tests/support/export_test.py.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/test_support.h"
#include "export/exporter.h"
#include "store/writer.h"

namespace sonde::exporting {
namespace {

class Exporters : public testing::Test {
 protected:
  void SetUp() override { fill(); }

  std::string file(const std::string& name) { return folder_ / name; }

  // Two processes with a queue 1 of GPU 0 each, whose operations overlap.
  void fill() {
    auto writer = store::Writer::open(file("in.rpd"), store::Writer::Mode::kCreate).value();
    ASSERT_TRUE(
        writer.database()
            .exec("INSERT INTO sonde_process(id, pid, start_ns, command, rank) VALUES "
                  "(1, 100, 500, '/bin/sh -c solver', 0), (2, 200, 600, 'solver', 1), "
                  "(3, 100, 700, '/opt/solver --fast', 0);"
                  "INSERT INTO sonde_thread(process_id, tid, name) VALUES (3, 101, 'io');"
                  "INSERT INTO sonde_device(process_id, gpu_id, backend, name, vendor) "
                  "VALUES (3, 0, 'opencl', 'pthread-\"cpu\"', 'PoCL');"
                  "INSERT INTO sonde_clock_snapshot(process_id, clock, value, monotonic_ns) "
                  "VALUES (3, 'boottime', 5000, 1000), (3, 'realtime', 901000, 1000);")
            .ok());
    const int64_t launch = writer.string("clEnqueueNDRangeKernel"),
                  domain = writer.string("opencl");
    const int64_t kernel = writer.string("tile"), kind = writer.string("KernelExecution");
    for (int64_t process = 2; process <= 3; ++process) {
      const int64_t pid = process == 2 ? 200 : 100;
      const int64_t api = writer.api({pid, 101, 1000, 1900, launch, 0, domain, 0});
      const int64_t op = writer.op({0, 1, 0, 2000, 2500, kernel, kind});
      writer.api_op(api, op);
      store::OpDetailRow detail;
      detail.op_id = op;
      detail.process_id = process;
      detail.api_id = api;
      detail.grid[0] = 1000;
      detail.grid[1] = 8;
      if (process == 3) detail.group[0] = 64;
      detail.bytes = 4096;
      writer.op_detail(detail);
    }
    ASSERT_TRUE(writer.database()
                    .exec("INSERT INTO sonde_counter(process_id, tid, time_ns, name_id, value) "
                          "VALUES (3, 101, 1500, " +
                          std::to_string(writer.string("queue depth")) + ", 2.5)")
                    .ok());
    ASSERT_TRUE(writer.finish().ok());
  }

  Counts run(const std::string& exporter_name, const std::string& output) {
    auto reader = store::Reader::open(file("in.rpd"));
    EXPECT_TRUE(reader.ok());
    for (const Exporter& exporter : all_exporters()) {
      if (exporter.name != exporter_name) continue;
      const auto counts = exporter.write(*reader, file(output), {});
      EXPECT_TRUE(counts.ok());
      return *counts;
    }
    ADD_FAILURE() << "no exporter " << exporter_name;
    return {};
  }

  // What a decoder prints, which fails on malformed exports.
  std::string decode(const std::string& script, const std::string& output) {
    const std::string command =
        "/usr/bin/python3 tests/support/" + script + " " + file(output) + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> piece;
    while (const size_t size = fread(piece.data(), 1, piece.size(), pipe)) {
      text.append(piece.data(), size);
    }
    EXPECT_EQ(pclose(pipe), 0) << text;
    return text;
  }

  test::TemporaryDirectory folder_;
};

testing::AssertionResult holds(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << part << " is not in " << text;
}

TEST_F(Exporters, ChromeJsonKeepsWhatSondeRecorded) {
  const Counts counts = run("chrome", "out.json");
  EXPECT_EQ(counts.ops, 2u);
  EXPECT_EQ(counts.flows, 2u);
  EXPECT_EQ(counts.counters, 1u);
  EXPECT_EQ(counts.skipped, 0u);
  EXPECT_TRUE(holds(decode("chrome_check.py", "out.json"), "\"gpu_tracks\": 2"));
  std::ifstream stream(file("out.json"));
  const std::string text = (std::stringstream() << stream.rdbuf()).str();
  for (const char* part :
       {"\"name\":\"rank 0: solver\"", "\"labels\":\"/opt/solver --fast\"",
        "\"name\":\"rank 1: solver\"", "\"name\":\"io\"", "GPU 0: pthread-\\\"cpu\\\"",
        "\"name\":\"Queue 1 of 100\"", "\"name\":\"Queue 1 of 200\"", "\"cat\":\"opencl\"",
        "\"grid\":[16,8,1],\"block\":[64,1,1]", "\"work items\":[1000,8,1]",
        "\"bytes\":4096,\"memory bandwidth (GB/s)\":8.192", "\"args\":{\"value\":2.5}"}) {
    EXPECT_TRUE(holds(text, part));
  }
}

TEST_F(Exporters, PerfettoKeepsWhatSondeRecorded) {
  const Counts counts = run("perfetto", "out.pftrace");
  EXPECT_EQ(counts.ops, 2u);
  EXPECT_EQ(counts.flows, 2u);
  EXPECT_EQ(counts.counters, 1u);
  const std::string found = decode("pftrace_check.py", "out.pftrace");
  for (const char* part : {"\"op tile\": [2, 1000]", "\"gpus\": [\"pthread-\\\"cpu\\\"\"]",
                           "\"gpu_tracks\": 2", "\"processes\": 2", "\"counters\": 1",
                           "\"clocks\": {\"3\": 1000, \"6\": 5000, \"1\": 901000}"}) {
    EXPECT_TRUE(holds(found, part));
  }
}

TEST_F(Exporters, NeverWriteOverAFile) {
  std::ofstream(file("out.json")) << "mine";
  auto reader = store::Reader::open(file("in.rpd"));
  for (const Exporter& exporter : all_exporters()) {
    EXPECT_FALSE(exporter.write(*reader, file("out.json"), {}).ok());
  }
  EXPECT_EQ(std::filesystem::file_size(file("out.json")), 4u);
}

}  // namespace
}  // namespace sonde::exporting
