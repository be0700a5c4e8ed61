#include "tree/tree.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/test_support.h"
#include "config/config_json.h"
#include "tree/layout.h"
#include "tree/live.h"
#include "tree/parts.h"

namespace softgpu {
namespace {

Config two_gpus(std::string_view text) {
  auto config = parse_config(text, "test");
  EXPECT_TRUE(config);
  EXPECT_TRUE(finish_config(*config));
  return *config;
}

class TreeTest : public testing::Test {
 protected:
  std::string read(const std::string& path) const {
    std::ifstream file(root_.path() + path);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // The value of a key of a topology file.
  std::string property(const std::string& path, const std::string& key) const {
    const std::string text = "\n" + read(std::string(kTopology) + "/nodes/" + path);
    const size_t at = text.find("\n" + key + " ");
    if (at == std::string::npos) return "";
    const size_t begin = at + key.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  sonde::test::TemporaryDirectory root_;
};

// ROCm 5 finds no GPU if a processor has no description of its caches.
TEST_F(TreeTest, ProcessorsWithoutCachesGetSome) {
  const sonde::test::TemporaryDirectory machine;
  const std::string with = "/node/node1/cpu3/cache", without = "/node/node0/cpu0";
  for (const std::string& place : {with, without, std::string("/cpu/cpu0"), std::string("/cpu/x"),
                                   std::string("/node/node0/cpumap")}) {
    std::filesystem::create_directories(machine.path() + place);
  }
  TreeWriter tree(root_.path());
  write_cpu_caches(tree, machine.path());
  ASSERT_TRUE(tree.status());
  const std::string system(kSystem);
  for (const std::string& place : {without, std::string("/cpu/cpu0")}) {
    EXPECT_EQ(read(system + place + "/cache/index1/type"), "Instruction\n");
    EXPECT_EQ(read(system + place + "/cache/index3/level"), "3\n");
    bool shared = false;
    EXPECT_TRUE(in_tree(system + place + "/cache", shared));
    EXPECT_TRUE(shared);
    EXPECT_FALSE(in_tree(system + place, shared));
  }
  EXPECT_FALSE(std::filesystem::exists(root_.path() + system + "/node/node1"));
  EXPECT_FALSE(std::filesystem::exists(root_.path() + system + "/node/node0/cpumap"));
}

TEST_F(TreeTest, TopologyCountsItsParts) {
  ASSERT_TRUE(
      write_tree(two_gpus(R"({"gpus": [{"count": 2}, {"model": "gfx1030"}]})"), root_.path()));
  EXPECT_EQ(property("0/properties", "io_links_count"), "3");
  EXPECT_EQ(property("1/properties", "io_links_count"), "2");  // the CPU and the XGMI neighbour
  EXPECT_EQ(property("3/properties", "io_links_count"), "1");
  EXPECT_EQ(property("1/io_links/1/properties", "type"), "11");
  EXPECT_EQ(property("1/io_links/1/properties", "node_to"), "2");
  EXPECT_EQ(property("1/properties", "simd_count"), "440");
  EXPECT_EQ(property("3/properties", "wave_front_size"), "32");
  EXPECT_EQ(property("1/mem_banks/0/properties", "size_in_bytes"), "68719476736");
  for (int node = 0; node < 4; ++node) {
    for (const std::string kind : {"io_links", "p2p_links"}) {
      const auto links = std::filesystem::directory_iterator(
          root_.path() + std::string(kTopology) + "/nodes/" + std::to_string(node) + "/" + kind);
      EXPECT_EQ(property(std::to_string(node) + "/properties", kind + "_count"),
                std::to_string(std::distance(begin(links), end(links))));
    }
  }
}

TEST_F(TreeTest, PcieNeighboursNeedALargeBar) {
  ASSERT_TRUE(
      write_tree(two_gpus(R"({"gpus": [{"model": "gfx1030", "count": 2, "large_bar": true}]})"),
                 root_.path()));
  EXPECT_EQ(property("1/properties", "io_links_count"), "1");  // the CPU
  EXPECT_EQ(property("1/p2p_links/0/properties", "type"), "2");
  EXPECT_EQ(property("1/p2p_links/0/properties", "node_to"), "2");
  EXPECT_EQ(property("1/mem_banks/0/properties", "heap_type"), "1");
}

TEST_F(TreeTest, LinksLeadToTheGpu) {
  const Config config = two_gpus(R"({"gpus": [{"count": 2, "name": "Test card"}]})");
  ASSERT_TRUE(write_tree(config, root_.path()));
  for (const char* way : {"/sys/class/drm/card1/device/", "/sys/class/drm/renderD129/device/",
                          "/sys/dev/char/226:129/device/", "/sys/dev/char/226:1/device/",
                          "/sys/class/hwmon/hwmon1/device/", "/sys/bus/pci/devices/0000:c6:00.0/",
                          "/sys/bus/pci/drivers/amdgpu/0000:c6:00.0/"}) {
    EXPECT_EQ(read(way + std::string("unique_id")), "1234567890abcdf0\n") << way;
  }
  EXPECT_EQ(read("/sys/class/drm/card0/device/product_name"), "Test card\n");
  for (std::string_view name : live_files()) {
    std::string path(name);
    if (path.starts_with("hwmon/")) path.insert(6, "hwmon1/");
    EXPECT_FALSE(read(pci_folder(config.gpus[1]) + "/" + path).empty()) << path;
  }
}

TEST_F(TreeTest, AFailureNamesTheFile) {
  std::ofstream(root_ / "plain") << "x";
  const auto failed = write_tree(two_gpus("{}"), root_ / "plain");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().context.rfind(root_ / "plain", 0), 0u);
}

TEST(Layout, OnlyTheGpusPathsAreOurs) {
  bool shared = false;
  for (const char* ours : {"/dev/kfd", "/dev/dri", "/dev/dri/renderD128", "/sys/class/kfd/kfd",
                           "/sys/dev/char/226:1", "/proc/modules", "/sys/class/drm/"}) {
    EXPECT_TRUE(in_tree(ours, shared)) << ours;
    EXPECT_FALSE(shared);
  }
  for (const char* other :
       {"/dev/kfd2", "/dev/drive", "/dev/null", "/proc/self/maps", "/sys/dev", "/sys/dev/char/1:3",
        "/sys/devices/system/cpu", "dev/kfd", "", "/", "/sys/class/drmaster", "/tmp/dev/kfd"}) {
    EXPECT_FALSE(in_tree(other, shared)) << other;
  }
  EXPECT_TRUE(in_tree("/sys/bus/pci/devices/0000:00:00.0", shared));
  EXPECT_TRUE(shared);
}

TEST(Layout, GpuIdsAreTheirOwn) {
  for (uint32_t gpu = 0; gpu < kMaxGpus; ++gpu) {
    EXPECT_NE(gpu_id(gpu), 0u);
    EXPECT_EQ(gpu_of_id(gpu_id(gpu), kMaxGpus), gpu);
    EXPECT_EQ(gpu_of_id(gpu_id(gpu), gpu), std::nullopt);
  }
}

TEST(Live, FollowsTheLoad) {
  const GpuConfig gpu = two_gpus("{}").gpus[0];
  const GpuLoad rest, busy{.busy = 1, .memory_busy = 0.4, .vram_used_bytes = 123456};
  EXPECT_EQ(live_text("gpu_busy_percent", gpu, busy), "100\n");
  EXPECT_EQ(live_text("mem_busy_percent", gpu, busy), "40\n");
  EXPECT_EQ(live_text("mem_info_vram_used", gpu, busy), "123456\n");
  EXPECT_NE(live_text("pp_dpm_sclk", gpu, rest).find("0: 500Mhz *"), std::string::npos);
  EXPECT_NE(live_text("pp_dpm_sclk", gpu, busy).find("2: 1700Mhz *"), std::string::npos);
  for (const char* rising : {"hwmon/power1_average", "hwmon/temp1_input", "hwmon/temp3_input",
                             "hwmon/freq1_input", "hwmon/in0_input"}) {
    EXPECT_LT(std::stoll(live_text(rising, gpu, rest)), std::stoll(live_text(rising, gpu, busy)))
        << rising;
  }
}

// The offsets of format 1.3, as in the kernel driver.
TEST(Live, MetricsTable) {
  const GpuConfig gpu = two_gpus("{}").gpus[0];
  const std::string table = live_text("gpu_metrics", gpu, {.busy = 0.5, .memory_busy = 0.25});
  ASSERT_EQ(table.size(), 120u);
  const auto at = [&](size_t offset) {
    uint16_t value = 0;
    std::memcpy(&value, table.data() + offset, sizeof value);
    return value;
  };
  EXPECT_EQ(at(0), 120);
  EXPECT_EQ(table[2], 1);
  EXPECT_EQ(table[3], 3);
  EXPECT_EQ(at(16), 50);
  EXPECT_EQ(at(18), 25);
  EXPECT_EQ(at(22), 296);  // W: 16 % and half of 74 % of 560
  EXPECT_EQ(at(54), 1700);
  EXPECT_EQ(at(76), 160);  // pcie speed, 0.1 GT/s
  EXPECT_EQ(at(10), 0xffff);
}

}  // namespace
}  // namespace softgpu
