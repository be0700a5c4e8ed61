// What is made of the numbers, and which tables are refused; where each number stands is tested by
// tests/support/gpu_metrics_tables.py.
#include "monitor/gpu_metrics.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde::monitor {
namespace {

void put16(std::string& bytes, size_t at, uint16_t value) {
  bytes[at] = static_cast<char>(value & 0xff);
  bytes[at + 1] = static_cast<char>(value >> 8);
}

std::string table(uint16_t size, uint8_t format, uint8_t content) {
  std::string bytes(size, '\xff');  // "not supported"
  put16(bytes, 0, size);
  put16(bytes, 2, static_cast<uint16_t>(content << 8 | format));
  return bytes;
}

using Numbers = std::vector<std::pair<size_t, uint16_t>>;  // by offset

std::optional<GpuMetrics> summary(std::string bytes, const Numbers& numbers = {}) {
  for (const auto& [at, value] : numbers) put16(bytes, at, value);
  const auto read = GpuMetricsTable::read(bytes);
  if (!read) return std::nullopt;
  return summary_of(*read);
}

TEST(GpuMetrics, OfADiscreteCard) {
  const Numbers numbers = {{4, 41},   {6, 55},    {8, 60},    {16, 97},   {18, 33}, {20, 5},
                           {22, 290}, {54, 1700}, {58, 1600}, {68, 0x40}, {70, 0}};
  const auto metrics = summary(table(120, 1, 3), numbers);
  ASSERT_TRUE(metrics.has_value());
  EXPECT_EQ(metrics->edge_c, 41);
  EXPECT_EQ(metrics->junction_c, 55);
  EXPECT_EQ(metrics->memory_c, 60);
  EXPECT_EQ(metrics->busy_percent, 97);
  EXPECT_EQ(metrics->mem_busy_percent, 33);
  EXPECT_EQ(metrics->media_percent, 5);
  EXPECT_EQ(metrics->power_w, 290);
  EXPECT_EQ(metrics->sclk_mhz, 1700);
  EXPECT_EQ(metrics->mclk_mhz, 1600);
  EXPECT_EQ(metrics->throttle, 0x40);
}

TEST(GpuMetrics, OfSeveralDies) {
  const auto metrics =
      summary(table(288, 1, 4), {{4, 71}, {10, 550}, {240, 1900}, {250, 2100}, {280, 1300}});
  ASSERT_TRUE(metrics.has_value());
  EXPECT_EQ(metrics->junction_c, 71);
  EXPECT_EQ(metrics->power_w, 550);
  EXPECT_EQ(metrics->sclk_mhz, 2100);  // of the fastest die
  EXPECT_EQ(metrics->mclk_mhz, 1300);
  EXPECT_FALSE(metrics->edge_c.has_value());
}

// Their temperatures, powers and activities have other units from driver to driver.
TEST(GpuMetrics, OfAnApu) {
  const Numbers numbers = {{4, 6100}, {28, 50}, {40, 20}, {64, 1400}, {68, 1200}};
  const auto metrics = summary(table(120, 2, 1), numbers);
  ASSERT_TRUE(metrics.has_value());
  EXPECT_EQ(metrics->sclk_mhz, 1400);  // averages: the current clocks are not supported
  EXPECT_EQ(metrics->mclk_mhz, 1200);
  EXPECT_FALSE(metrics->power_w || metrics->junction_c || metrics->busy_percent);
}

TEST(GpuMetrics, WhatIsNotSupportedIsNotThere) {
  const auto metrics = summary(table(120, 1, 3));
  ASSERT_TRUE(metrics.has_value());
  EXPECT_FALSE(metrics->edge_c || metrics->busy_percent || metrics->power_w || metrics->sclk_mhz ||
               metrics->mclk_mhz || metrics->throttle || metrics->media_percent);
}

TEST(GpuMetrics, FieldsOfPartitionsAndLinks) {
  std::string bytes = table(3872, 1, 8);
  for (size_t at = 136; at < 200; ++at) bytes[at] = 0;  // what was read from eight links
  put16(bytes, 136, 7);
  put16(bytes, 136 + 6 * 8, 5);
  put16(bytes, 344 + 440 + 3 * 4, 42);  // of the second partition
  put16(bytes, 344 + 440 + 3 * 4 + 2, 0);
  const auto read = GpuMetricsTable::read(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->version(), "1.8");
  EXPECT_EQ(read->sum("xgmi_read_data_acc"), 12u);
  EXPECT_EQ(read->sum("xgmi_write_data_acc"), 0u);
  EXPECT_EQ(read->number("gfx_busy_inst", 3, 1), 42u);
  EXPECT_EQ(read->number("gfx_busy_inst", 3, 0), std::nullopt);
  EXPECT_EQ(read->number("gfx_busy_inst", 8, 1), std::nullopt);
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
    const std::string bytes = table(size.bytes, size.format, size.content);
    const std::string name = std::to_string(size.format) + "." + std::to_string(size.content);
    EXPECT_TRUE(GpuMetricsTable::read(bytes).ok()) << name;
    for (size_t less = 0; less < bytes.size(); ++less) {
      const auto cut = GpuMetricsTable::read(std::string_view(bytes).substr(0, less));
      ASSERT_FALSE(cut.ok()) << name << " of " << less;
      ASSERT_NE(cut.error().message.find(std::to_string(less)), std::string::npos);
    }
  }
  const std::string unknown = table(8, 1, 9);
  EXPECT_NE(GpuMetricsTable::read(unknown).error().message.find("version 1.9"), std::string::npos);
}

TEST(GpuMetrics, OtherTablesAreRefused) {
  EXPECT_FALSE(summary("abc"));
  EXPECT_FALSE(summary(table(120, 1, 99)));
  EXPECT_FALSE(summary(table(120, 3, 1)));
  EXPECT_FALSE(summary(table(288, 1, 4), {{0, 40}})) << "it says that it is shorter";
}

}  // namespace
}  // namespace sonde::monitor
