#include "monitor/sampler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_support.h"
#include "monitor/kept_file.h"
#include "monitor/probe.h"

namespace sonde::monitor {
namespace {

constexpr int64_t kTick = 100'000'000;

class SamplerTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void memory(int64_t available_kib) {
    write("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  " +
                              std::to_string(available_kib) + " kB\n");
  }
  void process(int faults, const std::string& state = "S") {
    // The name holds what could end it, and the fields after it are numbered from 3.
    write("proc/7/stat", "7 (a) b 1) " + state + " 1 1 1 0 -1 0 " + std::to_string(faults) +
                             " 0 3 0 20 10 0 0 20 0 4 0 100 1000000 50 0\n");
  }
  Sampler sampler(const std::string& list, Settings settings = {}) {
    settings.metrics = parse_selection(list).value();
    settings.list = list;
    settings.roots = {folder_ / "proc", folder_ / "sys"};
    settings.nvml = "";
    return Sampler(settings, [this](const Reading& reading) { readings_.push_back(reading); });
  }
  std::vector<std::string> told(Id id) const {
    std::vector<std::string> lines;
    for (const Reading& each : readings_) {
      if (each.id != id) continue;
      lines.push_back(std::to_string(each.start_ns / kTick) + "-" +
                      std::to_string(each.end_ns / kTick) + " " + each.value);
    }
    return lines;
  }

  test::TemporaryDirectory folder_;
  std::vector<Reading> readings_;
};

using Lines = std::vector<std::string>;

TEST_F(SamplerTest, ValuesHoldUntilTheNextOneAndEqualOnesAreOneRow) {
  auto sampler = this->sampler("host.mem_used_bytes");
  for (const int available : {900, 900, 800, 800, 900}) {
    static int64_t now = 0;
    memory(available);
    sampler.tick(now += kTick, {});
  }
  sampler.flush();
  sampler.flush();  // says nothing twice
  EXPECT_EQ(told(Id::kMemoryUsed), (Lines{"1-3 102400", "3-5 204800", "5-5 102400"}));
}

TEST_F(SamplerTest, ValuesOverATimeEndWithIt) {
  const auto stat = [&](int busy, int idle) {
    write("proc/stat", "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) +
                           " 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 1\n");
  };
  auto sampler = this->sampler("host.cpu_percent");
  stat(0, 0);
  sampler.tick(kTick, {});
  stat(5, 5);
  sampler.tick(2 * kTick, {});
  stat(10, 10);
  sampler.tick(3 * kTick, {});
  stat(19, 11);
  sampler.tick(4 * kTick, {});
  sampler.flush();
  EXPECT_EQ(told(Id::kCpuPercent), (Lines{"1-3 50", "3-4 90"}));
}

TEST_F(SamplerTest, DeadlinesAreAbsoluteAndMissedOnesAreCounted) {
  memory(1);
  auto sampler = this->sampler("memory");
  sampler.tick(1'000 * kTick, {});
  EXPECT_EQ(sampler.due_ns(), 1'001 * kTick);
  sampler.tick(1'001 * kTick + kTick / 2, {});  // half late: the next is not moved by that
  EXPECT_EQ(sampler.due_ns(), 1'002 * kTick);
  EXPECT_EQ(sampler.missed(), 0u);
  sampler.tick(1'005 * kTick + 1, {});
  EXPECT_EQ(sampler.due_ns(), 1'006 * kTick);
  EXPECT_EQ(sampler.missed(), 3u);
  EXPECT_EQ(sampler.ticks(), 3u);
}

TEST_F(SamplerTest, AProcessUpToItsEnd) {
  auto sampler = this->sampler("process.minor_faults,process.threads,process.cpu_user_ms");
  const int64_t pid[] = {7};
  process(100);
  sampler.tick(kTick, pid);
  process(150);
  sampler.tick(2 * kTick, pid);
  process(170, "Z");
  sampler.last_look(2 * kTick + kTick / 2, 7);
  EXPECT_EQ(told(Id::kMinorFaults), (Lines{"1-2 100", "2-2 150", "2-2 170"}));
  EXPECT_EQ(told(Id::kThreads), (Lines{"1-2 4"}));
  EXPECT_EQ(told(Id::kUser), (Lines{"1-2 200"}));
  // Another process of that number begins anew.
  process(3);
  sampler.tick(4 * kTick, pid);
  sampler.tick(5 * kTick, {});
  EXPECT_EQ(told(Id::kMinorFaults).back(), "4-4 3");
}

TEST_F(SamplerTest, SwitchesAndWaitsOfManyThreadsAreCountedInTurn) {
  process(0);
  constexpr size_t kThreads = 3 * ProcessReader::kThreadsATick;
  const auto status = [&](size_t tid, int count) {
    write("proc/7/task/" + std::to_string(tid) + "/status",
          "Name:\tx\nvoluntary_ctxt_switches:\t" + std::to_string(count) +
              "\nnonvoluntary_ctxt_switches:\t1\n");
    write("proc/7/task/" + std::to_string(tid) + "/schedstat", "123456789 2000000 5\n");
  };
  for (size_t tid = 1; tid <= kThreads; ++tid) status(tid, 10);
  auto sampler =
      this->sampler("process.voluntary_ctxt,process.involuntary_ctxt,process.cpu_wait_ms");
  const int64_t pid[] = {7};
  for (int tick = 1; tick <= 3; ++tick) sampler.tick(tick * kTick, pid);
  std::filesystem::remove_all(folder_ / "proc/7/task/5");  // it counts on
  for (int tick = 4; tick <= 6; ++tick) sampler.tick(tick * kTick, pid);
  sampler.flush();
  const auto rows = told(Id::kVoluntary);
  EXPECT_EQ(rows, (Lines{"1-2 320", "2-3 640", "3-6 960"}));
  EXPECT_EQ(told(Id::kInvoluntary).back(), "3-6 96");
  EXPECT_EQ(told(Id::kCpuWait), (Lines{"1-2 64", "2-3 128", "3-6 192"}));
}

TEST_F(SamplerTest, ClocksAreThoseOfCpuinfoWhereThereIsNoCpufreq) {
  write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: A: B\ncpu MHz\t\t: 2100.500\n\n"
        "processor\t: 2\ncpu MHz\t\t: 1899.500\n");
  auto sampler = this->sampler("host.cpu_mhz,core.mhz");
  for (int tick = 1; tick <= 2; ++tick) sampler.tick(tick * kTick, {});
  sampler.flush();
  EXPECT_EQ(told(Id::kCpuMhz), (Lines{"1-2 2000"}));
  EXPECT_EQ(told(Id::kCoreMhz), (Lines{"1-2 2100.5", "1-2 1899.5"}));
  EXPECT_TRUE(sampler.missing().empty());
}

TEST_F(SamplerTest, AFolderWithoutProcessesIsMissing) {
  auto sampler = this->sampler("process");
  const int64_t pid[] = {7, 8};
  sampler.tick(kTick, pid);
  ASSERT_EQ(sampler.missing().size(), 1u);
  EXPECT_NE(how_to_allow(sampler.missing()[0]).find("--proc-root"), std::string::npos);
}

// What cannot be read of a process that has just ended is not missing: it belongs to root by then.
TEST_F(SamplerTest, NothingIsMissingOfAProcessThatHasEnded) {
  const int64_t pid[] = {7};
  // A folder can be opened by nobody as a file, not even by root.
  std::filesystem::create_directories(folder_.path() + "/proc/7/io");
  std::filesystem::create_directories(folder_.path() + "/proc/7/smaps_rollup");
  auto ended = this->sampler("process,process.pss_bytes");
  process(1, "Z");
  ended.tick(kTick, pid);
  EXPECT_TRUE(ended.missing().empty());
  auto running = this->sampler("process,process.pss_bytes");
  process(1);
  running.tick(kTick, pid);
  ASSERT_EQ(running.missing().size(), 1u);  // once for all files of processes
}

TEST_F(SamplerTest, WhatIsMissingIsSaidOnceAndTheRestGoesOn) {
  memory(600);
  auto sampler = this->sampler("memory,power,gpu,cpu,pressure");
  for (int tick = 1; tick <= 3; ++tick) sampler.tick(tick * kTick, {});
  sampler.flush();
  EXPECT_EQ(told(Id::kMemoryUsed), (Lines{"1-3 409600"}));
  Lines missing;
  for (const auto& each : sampler.missing()) missing.push_back(each.to_line());
  const std::string root = folder_.path();
  const Lines expected = {
      "cpu: " + root + "/proc/stat: No such file or directory",
      "cpu: " + root + "/sys/devices/system/cpu/cpu*/cpufreq: no clocks are shown, neither there " +
          "nor in " + root + "/proc/cpuinfo",
      "pressure: " + root + "/proc/pressure/cpu: this kernel does not measure it (boot with psi=1)",
      "pressure: " + root + "/proc/pressure/io: this kernel does not measure it (boot with psi=1)",
      "pressure: " + root +
          "/proc/pressure/memory: this kernel does not measure it (boot with psi=1)",
      "power: " + root + "/sys/class/powercap: no energy counters, as in most virtual machines",
      "gpu: " + root + "/sys/class/drm: No such file or directory"};
  EXPECT_EQ(missing, expected);
}

TEST_F(SamplerTest, DamagedFilesAreNoValues) {
  write("proc/meminfo", "nonsense");
  write("proc/stat", "cpu");
  write("proc/diskstats", "8 0\n\n 8 0 sda x y z\n");
  write("proc/net/dev", "Inter-|\n face |\n eth0\n eth1: a b\n");
  write("proc/pressure/cpu", "some total=\nfull");
  write("proc/7/stat", "7 (x");
  auto sampler = this->sampler("all");
  const int64_t pid[] = {7};
  for (int tick = 1; tick <= 3; ++tick) sampler.tick(tick * kTick, pid);
  sampler.flush();
  for (const auto& each : readings_) {
    EXPECT_TRUE(each.value == "0") << metric(each.id).name << " " << each.value;
  }
}

TEST(Selection, GroupsAndSingleMetrics) {
  EXPECT_EQ(parse_selection("off")->count(), 0u);
  EXPECT_EQ(parse_selection("all")->count(), kMetrics);
  EXPECT_EQ(parse_selection("gpu.sclk, host.cpu_mhz")->count(), 2u);
  EXPECT_EQ(parse_selection("cores")->count(), 2u);
  EXPECT_FALSE(parse_selection("default")->test(static_cast<size_t>(Id::kPss)));
  EXPECT_FALSE(parse_selection("cpus"));
  EXPECT_FALSE(parse_selection("cpu,"));
}

TEST(Metrics, NamesFitTheColumnAndAreDifferent) {
  std::set<std::string> names;
  for (const Metric& each : all_metrics()) {
    EXPECT_LE(std::string(each.name).size(), 16u) << each.name;
    EXPECT_TRUE(names.insert(std::string(each.device) + each.name).second) << each.name;
  }
}

TEST(Value, Texts) {
  EXPECT_EQ(value_text(0), "0");
  EXPECT_EQ(value_text(68719476736.0), "68719476736");
  EXPECT_EQ(value_text(12.5), "12.5");
  EXPECT_EQ(value_text(1.0 / 3), "0.333");
  EXPECT_EQ(value_text(-2), "-2");
  EXPECT_EQ(value_text(1e-9), "0");
}

}  // namespace
}  // namespace sonde::monitor
