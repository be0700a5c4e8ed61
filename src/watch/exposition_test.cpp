// The text for Prometheus, line by line; tests/watch parses a whole machine's with Prometheus' own
// parser.
#include "watch/exposition.h"

#include <gtest/gtest.h>

namespace sonde::watch {
namespace {

Snapshot two_gpus() {
  Snapshot snapshot;
  Gpu gpu;
  gpu.name = "Test \"GPU\"\n";
  gpu.unique_id = "0x1234";
  gpu.busy_percent = 12.5;
  gpu.vram_used_bytes = int64_t{1} << 30;
  gpu.vram_total_bytes = int64_t{4} << 30;
  gpu.energy_j = 123456789012;
  gpu.edge_c = 40;
  gpu.junction_c = 51;
  gpu.xgmi_read_kb = 5000000000;
  gpu.xgmi_written_kb = 7;
  gpu.block_errors = {{"gfx", 1, 0, std::nullopt}, {"umc", 7, 2, 3}};
  snapshot.gpus.push_back(gpu);
  gpu.number = 1;
  gpu.state = GpuState::kAsleep;
  snapshot.gpus.push_back(gpu);
  return snapshot;
}

bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Exposition, HasTheNamesOfOmnistat) {
  const std::string text = exposition(two_gpus(), Naming::kOmnistat, "node");
  for (const char* line :
       {"rocm_num_gpus 2", "rocm_utilization_percentage{card=\"0\"} 12.5",
        "rocm_vram_used_percentage{card=\"0\"} 25", "rocm_vram_total_bytes{card=\"0\"} 4294967296",
        "# TYPE rocm_energy_joules counter", "rocm_energy_joules{card=\"0\"} 123456789012",
        "rocm_temperature_celsius{card=\"0\",location=\"edge\"} 40",
        "rocm_temperature_celsius{card=\"0\",location=\"junction\"} 51",
        "rocm_xgmi_total_read_kilobytes{card=\"0\"} 5000000000",
        "rocm_xgmi_total_write_kilobytes{card=\"0\"} 7",
        "rocm_ras_umc_correctable_count{card=\"0\"} 7",
        "rocm_ras_umc_uncorrectable_count{card=\"0\"} 2",
        "rocm_ras_umc_deferred_count{card=\"0\"} 3", "rocm_ras_gfx_correctable_count{card=\"0\"} 1",
        "sonde_gpu_awake{card=\"0\"} 1", "sonde_gpu_awake{card=\"1\"} 0"}) {
    EXPECT_TRUE(has(text, line)) << line << " is not in\n" << text;
  }
  EXPECT_EQ(text.find("percentage{card=\"1\"}"), std::string::npos) << "it is asleep";
  EXPECT_EQ(text.find("gfx_deferred"), std::string::npos) << "its driver does not tell it";
  EXPECT_EQ(text.find("watts"), std::string::npos) << "nothing is known of power";
  // A family's help appears once, however many series it has.
  const std::string help = "# HELP rocm_temperature_celsius";
  EXPECT_EQ(text.find(help), text.rfind(help));
}

TEST(Exposition, NamesCannotEndALabel) {
  const std::string text = exposition(two_gpus(), Naming::kDcgm, "no\\de");
  EXPECT_TRUE(has(text,
                  "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"0x1234\",device=\"\",modelName=\"Test "
                  "\\\"GPU\\\"?\",Hostname=\"no\\\\de\"} 12.5"))
      << text;
  EXPECT_NE(text.find("DCGM_FI_DEV_FB_FREE{gpu=\"0\""), std::string::npos);
}

TEST(Exposition, ProcessesAreABoundedNumberOfSeries) {
  Snapshot snapshot = two_gpus();
  for (int64_t pid = 1; pid <= 1000; ++pid) {
    Process process;
    process.pid = pid;
    process.job = "slurm:" + std::to_string(pid % 700);
    process.gpus.push_back({.gpu = 0, .vram_bytes = pid});
    snapshot.processes.push_back(process);
  }
  const std::string text = exposition(snapshot, Naming::kOmnistat, "node");
  size_t series = 0;
  for (size_t at = 0; (at = text.find("\nsonde_gpu_process_vram_bytes{", at)) != text.npos; ++at) {
    ++series;
  }
  EXPECT_EQ(series, kMostProcessSeries + 1);
  // 1 + 2 + ... + 744.
  EXPECT_TRUE(has(text, "sonde_gpu_process_vram_bytes{card=\"0\",pid=\"others\"} 277140")) << text;
  EXPECT_NE(text.find("rmsjob_info{jobid=\"7\",user=\"\",jobstep=\"\",type=\"slurm\"} 1"),
            std::string::npos);
}

}  // namespace
}  // namespace sonde::watch
