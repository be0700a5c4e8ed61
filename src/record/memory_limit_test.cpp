#include "record/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_support.h"
#include "record/session_dir.h"

namespace sonde::record {
namespace {

namespace fs = std::filesystem;

class MemoryLimit : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::optional<uint64_t> available() {
    return available_memory((root_ / "proc").string(), (root_ / "cgroup").string());
  }
  test::TemporaryDirectory directory_;
  fs::path root_ = directory_.path();
};

TEST_F(MemoryLimit, OfTheMachine) {
  EXPECT_EQ(available(), std::nullopt);
  write("proc/meminfo", "MemTotal:       2000 kB\nMemFree: 100 kB\nMemAvailable:    1000 kB\n");
  EXPECT_EQ(available(), 1000u * 1024);
}

TEST_F(MemoryLimit, OfTheGroupsThatThisOneIsIn) {
  write("proc/meminfo", "MemAvailable: 1000000 kB\n");
  write("proc/self/cgroup", "0::/job/task\n");
  write("cgroup/job/task/memory.max", "max\n");
  write("cgroup/job/task/memory.current", "5000000\n");
  EXPECT_EQ(available(), 1'000'000u * 1024);
  write("cgroup/job/memory.max", "80000000\n");
  write("cgroup/job/memory.current", "30000000\n");
  EXPECT_EQ(available(), 50'000'000u);
  write("cgroup/job/memory.stat", "anon 5\nfile 6\ninactive_file 10000000\nslab 7\n");
  EXPECT_EQ(available(), 60'000'000u);
  write("cgroup/job/memory.current", "90000000\n");  // the limit was lowered below the usage
  EXPECT_EQ(available(), 0u);
}

TEST_F(MemoryLimit, OfAContainersGroupAndOfVersion1) {
  write("proc/self/cgroup", "0::/\n");
  write("cgroup/memory.max", "7000\n");
  write("cgroup/memory.current", "3000\n");
  EXPECT_EQ(available(), 4000u);
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n9:memory:/a\n");
  write("cgroup/memory/a/memory.limit_in_bytes", "9000\n");
  write("cgroup/memory/a/memory.usage_in_bytes", "2000\n");
  write("cgroup/memory/a/memory.stat", "cache 1\ntotal_inactive_file 500\n");
  EXPECT_EQ(available(), 7500u);
}

TEST_F(MemoryLimit, ASessionInMemoryTakesAQuarterOfIt) {
  if (!is_in_memory("/dev/shm")) GTEST_SKIP() << "no tmpfs at /dev/shm";
  const auto free = available_memory();
  ASSERT_TRUE(free);
  const uint64_t limit = session_limit({}, "/dev/shm");
  EXPECT_LE(limit, *free / 4 + *free / 8);  // other programs run at the same time
  EXPECT_GT(limit, 0u);
  EXPECT_FALSE(is_in_memory("/proc"));
}

}  // namespace
}  // namespace sonde::record
