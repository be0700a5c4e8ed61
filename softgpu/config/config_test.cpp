#include <gtest/gtest.h>

#include "config/config_json.h"
#include "config/models.h"

namespace softgpu {
namespace {

std::string error_of(std::string_view text) {
  auto config = parse_config(text, "c.json");
  if (!config) return config.error().to_line();
  const auto finished = finish_config(*config);
  return finished ? "" : finished.error().to_line();
}

TEST(Config, NothingGivesOneGpuAndAnEmptyListNone) {
  auto one = parse_config("{}", "c.json");
  ASSERT_TRUE(one);
  ASSERT_EQ(one->gpus.size(), 1u);
  EXPECT_EQ(one->gpus[0].model, "gfx90a");
  EXPECT_EQ(one->gpus[0].vram_bytes, uint64_t{64} << 30);
  auto none = parse_config(R"({"gpus": []})", "c.json");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->gpus.empty());
}

TEST(Config, WhatIsWrittenReadsTheSame) {
  auto config = parse_config(R"({
    "gpus": [{"model": "gfx906", "count": 2, "vram_bytes": "1.5G", "large_bar": true,
              "clock": {"rate_hz": 25000000, "offset_ticks": -5, "drift_ppb": -50000},
              "time": {"kernel_base_ns": 1, "kernel_item_ns": 0.5, "copy_bytes_per_s": 1e9}},
             {"model": "gfx1030", "pci_bus": 3, "compute_units": 4}],
    "faults": [{"kind": "ecc", "kernel": "k", "gpu": 1, "dispatch": 9, "address": "0xdead0000000"}],
    "log": "/tmp/x", "coverage": "/tmp/y", "threads": 3, "log_level": 2, "engine": "isa", "kfd": "1.14"})",
                             "c.json");
  ASSERT_TRUE(config) << config.error().to_line();
  ASSERT_TRUE(finish_config(*config));
  ASSERT_EQ(config->gpus.size(), 3u);
  EXPECT_EQ(config->gpus[1].vram_bytes, uint64_t{3} << 29);
  EXPECT_EQ(config->gpus[1].clock.offset_ticks, -5);
  EXPECT_EQ(config->gpus[2].pci_bus, 3u);
  EXPECT_NE(config->gpus[0].pci_bus, config->gpus[1].pci_bus);
  EXPECT_EQ(config->faults[0].address, 0xdead0000000u);
  EXPECT_EQ(config->engine, EngineChoice::kIsa);
  EXPECT_EQ(config->kfd_minor, 14u);
  EXPECT_EQ(config->coverage_path, "/tmp/y");
  const std::string text = config_text(*config);
  auto again = parse_config(text, "again");
  ASSERT_TRUE(again) << again.error().to_line();
  EXPECT_EQ(config_text(*again), text);
  EXPECT_EQ(again->gpus[0].time.kernel_item_ns, 0.5);
}

TEST(Config, ErrorsNameThePlace) {
  EXPECT_EQ(
      error_of(R"({"gpus": [{"vran_bytes": 1}]})").rfind("c.json: gpus[0].vran_bytes unknown", 0),
      0u);
  EXPECT_NE(error_of("{").find("c.json: not JSON"), std::string::npos);
  EXPECT_NE(error_of(R"({"gpus": [{"model": "gfx1"}]})").find("known: gfx900, gfx906"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"gpus": [{"clock": {"rate_hz": -1}}]})").find("gpus[0].clock.rate_hz"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"gpus": [{"revision": 256}]})").find("0 to 255"), std::string::npos);
  EXPECT_NE(error_of(R"({"gpus": [{"vram_bytes": "much"}]})"), "");
  EXPECT_NE(error_of(R"({"gpus": [{"time": {"copy_bytes_per_s": 0}}]})"), "");
  EXPECT_NE(error_of(R"({"gpus": {}})"), "");
  EXPECT_NE(error_of("[]"), "");
  EXPECT_NE(error_of(R"({"faults": [{"kind": "bad-luck"}]})").find("known: memory-fault"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"faults": [{"gpu": 1}]})").find("does not exist"), std::string::npos);
  EXPECT_NE(error_of(R"({"gpus": [{"count": 5}, {"count": 4}]})").find("at most 8"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"gpus": [{"pci_bus": 3}, {"pci_bus": 3}]})").find("same PCI address"),
            std::string::npos);
}

TEST(Config, ShortForms) {
  auto gpus = parse_gpu_option("gfx906:3");
  ASSERT_TRUE(gpus);
  EXPECT_EQ(gpus->size(), 3u);
  EXPECT_EQ((*gpus)[2].model, "gfx906");
  EXPECT_TRUE(parse_gpu_option("gfx906:0")->empty());
  for (const char* wrong : {"gfx906:", "gfx906:9", "gfx906:x", "", ":2", "vega"}) {
    EXPECT_FALSE(parse_gpu_option(wrong)) << wrong;
  }
  auto fault = parse_fault_option("hang@saxpy:3");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kHang);
  EXPECT_EQ(fault->kernel, "saxpy");
  EXPECT_EQ(fault->dispatch, 3u);
  EXPECT_EQ(parse_fault_option("ecc")->dispatch, 1u);
  EXPECT_EQ(parse_fault_option("memory-fault:7")->dispatch, 7u);
  for (const char* wrong : {"", "1.", "1.7", "2.10", "1.99", "1.14x"}) {
    EXPECT_FALSE(parse_kfd_version(wrong)) << wrong;
  }
  for (const char* wrong : {"", "hang:0", "hang:x", "@k", "fire@k:1"}) {
    EXPECT_FALSE(parse_fault_option(wrong)) << wrong;
  }
}

// Each model's arrays must have room for its units, or ROCr and DRM would see different GPUs.
TEST(Models, TableIsConsistent) {
  for (const Model& model : all_models()) {
    EXPECT_GE(model.shader_engines * model.family.arrays_per_engine * model.units_per_array,
              model.compute_units)
        << model.gfx;
    EXPECT_EQ(find_model(model.gfx), &model);
    // "gfx90a" is major 9, minor 0, step 10: two hexadecimal digits at the end.
    const uint32_t version = gfx_version_of(model);
    const uint32_t step = version % 100, minor = version / 100 % 100;
    char name[32];
    std::snprintf(name, sizeof name, "gfx%u%x%x", version / 10000, minor, step);
    EXPECT_EQ(model.gfx, name);
  }
}

}  // namespace
}  // namespace softgpu
