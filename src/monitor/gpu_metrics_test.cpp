// The tables are made of the structs that the kernel publishes, laid out by the compiler; the
// offsets that are tested were worked out by hand.
#include "monitor/gpu_metrics.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace sonde::monitor {
namespace {

std::optional<GpuMetrics> parse_gpu_metrics(std::string_view bytes) {
  const auto table = GpuMetricsTable::read(bytes);
  if (!table) return std::nullopt;
  return summary_of(*table);
}

struct Header {
  uint16_t structure_size;
  uint8_t format_revision, content_revision;
};

struct V1_0 {
  Header header;
  uint64_t system_clock_counter;
  uint16_t edge, hotspot, mem, vrgfx, vrsoc, vrmem;
  uint16_t gfx_activity, umc_activity, mm_activity, socket_power;
  uint32_t energy;
  uint16_t average_clocks[7];  // gfx soc u vclk0 dclk0 vclk1 dclk1
  uint16_t current_clocks[7];
  uint32_t throttle_status;
  uint16_t fan;
  uint8_t pcie_width, pcie_speed;
};

struct V1_3 {
  Header header;
  uint16_t edge, hotspot, mem, vrgfx, vrsoc, vrmem;
  uint16_t gfx_activity, umc_activity, mm_activity, socket_power;
  uint64_t energy, system_clock_counter;
  uint16_t average_clocks[7], current_clocks[7];
  uint32_t throttle_status;
  uint16_t fan, pcie_width, pcie_speed, padding;
  uint32_t gfx_activity_acc, mem_activity_acc;
  uint16_t hbm[4];
  uint64_t firmware_timestamp;
  uint16_t voltage[3], padding1;
  uint64_t independent_throttle_status;
};
static_assert(sizeof(V1_3) == 120);

template <int kJpegs, int kNaks>
struct V1_4Or5 {
  Header header;
  uint16_t hotspot, mem, vrsoc, socket_power, gfx_activity, umc_activity, vcn_activity[4];
  uint16_t jpeg_activity[kJpegs];
  uint64_t energy, system_clock_counter;
  uint32_t throttle_status, gfxclk_lock_status;
  uint16_t pcie_width, pcie_speed, xgmi_width, xgmi_speed;
  uint32_t gfx_activity_acc, mem_activity_acc;
  uint64_t pcie_bandwidth[2], l0_to_recovery, replay, replay_rollover;
  uint32_t naks[kNaks];
  uint64_t xgmi_read[8], xgmi_write[8], firmware_timestamp;
  uint16_t gfxclk[8], socclk[4], vclk0[4], dclk0[4], uclk, padding;
};
using V1_4 = V1_4Or5<0, 0>;
using V1_5 = V1_4Or5<32, 2>;
static_assert(sizeof(V1_4) == 288 && sizeof(V1_5) == 360);

struct V1_6 {
  Header header;
  uint16_t hotspot, mem, vrsoc, socket_power, gfx_activity, umc_activity;
  uint64_t energy, system_clock_counter;
  uint32_t accumulation_counter, residencies[5];
  uint32_t gfxclk_lock_status;
  uint16_t pcie_width, pcie_speed, xgmi_width, xgmi_speed;
  uint32_t gfx_activity_acc, mem_activity_acc;
  uint64_t pcie_bandwidth[2], l0_to_recovery, replay, replay_rollover;
  uint32_t naks[2];
  uint64_t xgmi_read[8], xgmi_write[8], firmware_timestamp;
  uint16_t gfxclk[8], socclk[4], vclk0[4], dclk0[4], uclk, partitions;
  struct {
    uint32_t gfx_busy[8];
    uint16_t jpeg_busy[32], vcn_busy[4];
    uint64_t gfx_busy_acc[8];
  } xcp[8];
  uint32_t pcie_other_end_recovery;
};
static_assert(sizeof(V1_6) == 1664);

struct Partition1_7 {
  uint32_t gfx_busy[8];
  uint16_t jpeg_busy[32], vcn_busy[4];
  uint64_t gfx_busy_acc[8], below_limit_acc[8];
};
struct Partition1_8 {
  uint32_t gfx_busy[8];
  uint16_t jpeg_busy[40], vcn_busy[4];
  uint64_t gfx_busy_acc[8], below_limit_ppt[8], below_limit_thermal[8], low_utilization[8],
      below_limit_total[8];
};
template <typename Partition>
struct V1_7Or8 {
  Header header;
  uint16_t hotspot, mem, vrsoc, socket_power, gfx_activity, umc_activity;
  uint64_t mem_max_bandwidth, energy, system_clock_counter;
  uint32_t accumulation_counter, residencies[5];
  uint32_t gfxclk_lock_status;
  uint16_t pcie_width, pcie_speed, xgmi_width, xgmi_speed;
  uint32_t gfx_activity_acc, mem_activity_acc;
  uint64_t pcie_bandwidth[2], l0_to_recovery, replay, replay_rollover;
  uint32_t naks[2];
  uint64_t xgmi_read[8], xgmi_write[8];
  uint16_t xgmi_status[8], padding;
  uint64_t firmware_timestamp;
  uint16_t gfxclk[8], socclk[4], vclk0[4], dclk0[4], uclk, partitions;
  Partition xcp[8];
  uint32_t pcie_other_end_recovery;
};
using V1_7 = V1_7Or8<Partition1_7>;
using V1_8 = V1_7Or8<Partition1_8>;
static_assert(sizeof(V1_7) == 2208 && sizeof(V1_8) == 3872);

struct V2_0 {
  Header header;
  uint64_t system_clock_counter;
  uint16_t temperatures[2], core_temperatures[8], l3_temperatures[2];
  uint16_t gfx_activity, mm_activity, powers[4], core_powers[8];
  uint16_t average_clocks[6], current_clocks[6];  // gfx soc u f v d
  uint16_t core_clocks[8], l3_clocks[2];
  uint32_t throttle_status;
  uint16_t fan, padding;
};

struct V2_1 {
  Header header;
  uint16_t temperatures[2], core_temperatures[8], l3_temperatures[2];
  uint16_t gfx_activity, mm_activity;
  uint64_t system_clock_counter;
  uint16_t powers[4], core_powers[8];
  uint16_t average_clocks[6], current_clocks[6];
  uint16_t core_clocks[8], l3_clocks[2];
  uint32_t throttle_status;
  uint16_t fan, padding[3];
};

// A table in which every byte is all ones ("not supported") but the header.
template <typename T>
T empty_table(uint8_t format, uint8_t content) {
  T table;
  std::memset(static_cast<void*>(&table), 0xff, sizeof table);
  table.header = {sizeof table, format, content};
  return table;
}

template <typename T>
std::string_view bytes_of(const T& table) {
  return {reinterpret_cast<const char*>(&table), sizeof table};
}

// What all tables have.
struct Usual {
  uint16_t junction_c, memory_c, power_w, busy_percent, mem_busy_percent;

  template <typename T>
  void fill(T& table) const {
    table.hotspot = junction_c;
    table.mem = memory_c;
    table.socket_power = power_w;
    table.gfx_activity = busy_percent;
    table.umc_activity = mem_busy_percent;
  }
  void expect(const GpuMetrics& metrics) const {
    EXPECT_EQ(metrics.junction_c, junction_c);
    EXPECT_EQ(metrics.memory_c, memory_c);
    EXPECT_EQ(metrics.power_w, power_w);
    EXPECT_EQ(metrics.busy_percent, busy_percent);
    EXPECT_EQ(metrics.mem_busy_percent, mem_busy_percent);
  }
};
constexpr Usual kDies = {71, 62, 550, 88, 44}, kDiscrete = {55, 60, 290, 97, 33};

template <typename T>
GpuMetrics parsed_dies(
    uint8_t content, void (*change)(T&) = [](T&) {}) {
  auto table = empty_table<T>(1, content);
  kDies.fill(table);
  table.gfxclk[0] = 1900;
  table.gfxclk[5] = 2100;
  table.uclk = 1300;
  change(table);
  return parse_gpu_metrics(bytes_of(table)).value();
}

void expect_dies(const GpuMetrics& metrics) {
  kDies.expect(metrics);
  EXPECT_EQ(metrics.sclk_mhz, 2100);  // of the fastest die
  EXPECT_EQ(metrics.mclk_mhz, 1300);
  EXPECT_FALSE(metrics.edge_c.has_value());
}

template <typename T>
void fill_discrete(T& table) {
  kDiscrete.fill(table);
  table.edge = 41;
  table.mm_activity = 5;
  table.current_clocks[0] = 1700;
  table.current_clocks[2] = 1600;
  table.throttle_status = 0x40;
}

void expect_discrete(const GpuMetrics& metrics) {
  kDiscrete.expect(metrics);
  EXPECT_EQ(metrics.edge_c, 41);
  EXPECT_EQ(metrics.media_percent, 5);
  EXPECT_EQ(metrics.sclk_mhz, 1700);
  EXPECT_EQ(metrics.mclk_mhz, 1600);
  EXPECT_EQ(metrics.throttle, 0x40);
}

TEST(GpuMetrics, VersionsOfDiscreteCards) {
  auto old = empty_table<V1_0>(1, 0);
  fill_discrete(old);
  expect_discrete(parse_gpu_metrics(bytes_of(old)).value());
  for (uint8_t content = 1; content <= 3; ++content) {
    auto table = empty_table<V1_3>(1, content);
    fill_discrete(table);
    constexpr size_t kBytes[] = {96, 104, 120};
    table.header.structure_size = static_cast<uint16_t>(kBytes[content - 1]);
    const auto metrics = parse_gpu_metrics(bytes_of(table).substr(0, kBytes[content - 1]));
    ASSERT_TRUE(metrics.has_value()) << int{content};
    expect_discrete(*metrics);
  }
}

TEST(GpuMetrics, VersionsOfSeveralDies) {
  const GpuMetrics v4 = parsed_dies<V1_4>(4, [](V1_4& table) { table.throttle_status = 9; });
  const GpuMetrics v5 = parsed_dies<V1_5>(5, [](V1_5& table) { table.throttle_status = 3; });
  expect_dies(v4);
  EXPECT_EQ(v4.throttle, 9);
  expect_dies(v5);
  EXPECT_EQ(v5.throttle, 3);
  expect_dies(parsed_dies<V1_6>(6));
  expect_dies(parsed_dies<V1_7>(7));
  expect_dies(parsed_dies<V1_8>(8));
}

TEST(GpuMetrics, FieldsOfPartitionsAndLinks) {
  auto table = empty_table<V1_8>(1, 8);
  table.accumulation_counter = 1000;
  table.residencies[1] = 250;
  table.xgmi_read[0] = 7;
  table.xgmi_read[6] = 5;
  table.partitions = 2;
  table.xcp[1].gfx_busy[3] = 42;
  table.xcp[7].below_limit_total[7] = 99;
  table.pcie_other_end_recovery = 3;
  const auto read = GpuMetricsTable::read(bytes_of(table));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->version(), "1.8");
  EXPECT_EQ(read->number("accumulation_counter"), 1000u);
  EXPECT_EQ(read->number("ppt_residency_acc"), 250u);
  EXPECT_EQ(read->number("prochot_residency_acc"), std::nullopt);
  EXPECT_EQ(read->sum("xgmi_read_data_acc"), 12u);
  EXPECT_EQ(read->sum("xgmi_write_data_acc"), 0u);
  EXPECT_EQ(read->number("num_partition"), 2u);
  EXPECT_EQ(read->number("gfx_busy_inst", 3, 1), 42u);
  EXPECT_EQ(read->number("gfx_busy_inst", 3, 0), std::nullopt);
  EXPECT_EQ(read->number("gfx_busy_inst", 8, 1), std::nullopt);
  EXPECT_EQ(read->number("gfx_below_host_limit_total_acc", 7, 7), 99u);
  EXPECT_EQ(read->number("pcie_lc_perf_other_end_recovery"), 3u);
  EXPECT_EQ(read->number("no_such_field"), std::nullopt);
}

// The sizes that the drivers give: a byte less is a table that was cut.
TEST(GpuMetrics, TablesAreWholeOrNamed) {
  struct Size {
    uint8_t format, content;
    uint16_t bytes;
  };
  constexpr Size kSizes[] = {{1, 0, 80},  {1, 1, 96},   {1, 2, 104},  {1, 3, 120},  {1, 4, 288},
                             {1, 5, 360}, {1, 6, 1664}, {1, 7, 2208}, {1, 8, 3872}, {2, 0, 120},
                             {2, 1, 120}, {2, 2, 128},  {2, 3, 152},  {2, 4, 168},  {3, 0, 264}};
  for (const Size& size : kSizes) {
    std::string bytes(size.bytes, '\x11');
    const Header header = {size.bytes, size.format, size.content};
    std::memcpy(bytes.data(), &header, sizeof header);
    const std::string name = std::to_string(size.format) + "." + std::to_string(size.content);
    EXPECT_TRUE(GpuMetricsTable::read(bytes).ok()) << name;
    for (size_t less = 0; less < bytes.size(); ++less) {
      const auto cut = GpuMetricsTable::read(std::string_view(bytes).substr(0, less));
      ASSERT_FALSE(cut.ok()) << name << " of " << less;
      ASSERT_NE(cut.error().message.find(std::to_string(less)), std::string::npos);
    }
  }
  std::string unknown = {8, 0, 1, 9, 0, 0, 0, 0};
  EXPECT_NE(GpuMetricsTable::read(unknown).error().message.find("version 1.9"), std::string::npos);
}

TEST(GpuMetrics, VersionsOfApus) {
  auto v0 = empty_table<V2_0>(2, 0);
  v0.current_clocks[0] = 1400;
  v0.current_clocks[2] = 1200;
  v0.throttle_status = 7;
  auto v1 = empty_table<V2_1>(2, 1);
  v1.average_clocks[0] = 1400;  // the current ones are not supported
  v1.average_clocks[2] = 1200;
  v1.throttle_status = 7;
  for (const auto bytes : {bytes_of(v0), bytes_of(v1)}) {
    const auto metrics = parse_gpu_metrics(bytes);
    ASSERT_TRUE(metrics.has_value());
    EXPECT_EQ(metrics->sclk_mhz, 1400);
    EXPECT_EQ(metrics->mclk_mhz, 1200);
    EXPECT_EQ(metrics->throttle, 7);
    EXPECT_FALSE(metrics->power_w.has_value());
  }
}

TEST(GpuMetrics, WhatIsNotSupportedIsNotThere) {
  const auto metrics = parse_gpu_metrics(bytes_of(empty_table<V1_3>(1, 3)));
  ASSERT_TRUE(metrics.has_value());
  EXPECT_FALSE(metrics->edge_c || metrics->busy_percent || metrics->power_w || metrics->sclk_mhz ||
               metrics->mclk_mhz || metrics->throttle || metrics->media_percent);
}

TEST(GpuMetrics, OtherTablesAreRefused) {
  EXPECT_FALSE(parse_gpu_metrics(""));
  EXPECT_FALSE(parse_gpu_metrics("abc"));
  EXPECT_FALSE(parse_gpu_metrics(bytes_of(empty_table<V1_3>(1, 99))));
  EXPECT_FALSE(parse_gpu_metrics(bytes_of(empty_table<V1_3>(3, 1))));
  EXPECT_FALSE(parse_gpu_metrics(bytes_of(empty_table<V1_4>(1, 4)).substr(0, 287)));
  auto lying = empty_table<V1_4>(1, 4);
  lying.header.structure_size = 40;
  EXPECT_FALSE(parse_gpu_metrics(bytes_of(lying)));
}

}  // namespace
}  // namespace sonde::monitor
