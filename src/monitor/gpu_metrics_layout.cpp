#include "monitor/gpu_metrics_layout.h"

namespace sonde::monitor {

namespace {

using Unit = GpuUnit;
using Fields = std::span<const GpuField>;

constexpr GpuField kClockCounter[] = {{"system_clock_counter", 8, 1, Unit::kNs}};
constexpr GpuField kFirmwareTime[] = {{"firmware_timestamp", 8, 1, Unit::kTenNs}};
constexpr GpuField kIndependent[] = {{"indep_throttle_status", 8, 1, Unit::kBits}};
constexpr GpuField kAccumulated[] = {{"gfx_activity_acc", 4, 1, Unit::kPercentTicks},
                                     {"mem_activity_acc", 4, 1, Unit::kPercentTicks}};

// Cards with one die: 1.0 to 1.3.
constexpr GpuField kTemperatures[] = {
    {"temperature_edge", 2, 1, Unit::kCelsius},  {"temperature_hotspot", 2, 1, Unit::kCelsius},
    {"temperature_mem", 2, 1, Unit::kCelsius},   {"temperature_vrgfx", 2, 1, Unit::kCelsius},
    {"temperature_vrsoc", 2, 1, Unit::kCelsius}, {"temperature_vrmem", 2, 1, Unit::kCelsius},
};
constexpr GpuField kActivity[] = {
    {"average_gfx_activity", 2, 1, Unit::kPercent},
    {"average_umc_activity", 2, 1, Unit::kPercent},
    {"average_mm_activity", 2, 1, Unit::kPercent},
    {"average_socket_power", 2, 1, Unit::kWatt},
};
constexpr GpuField kShortEnergy[] = {{"energy_accumulator", 4, 1, Unit::kEnergy}};
constexpr GpuField kEnergy[] = {{"energy_accumulator", 8, 1, Unit::kEnergy}};
constexpr GpuField kClocks[] = {
    {"average_gfxclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_socclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_uclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_vclk0_frequency", 2, 1, Unit::kMegahertz},
    {"average_dclk0_frequency", 2, 1, Unit::kMegahertz},
    {"average_vclk1_frequency", 2, 1, Unit::kMegahertz},
    {"average_dclk1_frequency", 2, 1, Unit::kMegahertz},
    {"current_gfxclk", 2, 1, Unit::kMegahertz},
    {"current_socclk", 2, 1, Unit::kMegahertz},
    {"current_uclk", 2, 1, Unit::kMegahertz},
    {"current_vclk0", 2, 1, Unit::kMegahertz},
    {"current_dclk0", 2, 1, Unit::kMegahertz},
    {"current_vclk1", 2, 1, Unit::kMegahertz},
    {"current_dclk1", 2, 1, Unit::kMegahertz},
    {"throttle_status", 4, 1, Unit::kBits},
    {"current_fan_speed", 2, 1, Unit::kRpm},
};
constexpr GpuField kShortLink[] = {{"pcie_link_width", 1, 1, Unit::kLanes},
                                   {"pcie_link_speed", 1, 1, Unit::kTenthGts}};
constexpr GpuField kPcieLink[] = {{"pcie_link_width", 2, 1, Unit::kLanes},
                                  {"pcie_link_speed", 2, 1, Unit::kTenthGts}};
constexpr GpuField kGap[] = {{nullptr, 2, 1, Unit::kRaw}};
constexpr GpuField kHbm[] = {{"temperature_hbm", 2, 4, Unit::kCelsius}};
constexpr GpuField kVoltages[] = {{"voltage_soc", 2, 1, Unit::kMillivolt},
                                  {"voltage_gfx", 2, 1, Unit::kMillivolt},
                                  {"voltage_mem", 2, 1, Unit::kMillivolt}};

constexpr Fields k10[] = {kClockCounter, kTemperatures, kActivity,
                          kShortEnergy,  kClocks,       kShortLink};
constexpr Fields k11[] = {kTemperatures, kActivity, kEnergy,      kClockCounter, kClocks,
                          kPcieLink,     kGap,      kAccumulated, kHbm};
constexpr Fields k12[] = {kTemperatures, kActivity, kEnergy,      kClockCounter, kClocks,
                          kPcieLink,     kGap,      kAccumulated, kHbm,          kFirmwareTime};
constexpr Fields k13[] = {kTemperatures, kActivity, kEnergy,      kClockCounter, kClocks,
                          kPcieLink,     kGap,      kAccumulated, kHbm,          kFirmwareTime,
                          kVoltages,     kGap,      kIndependent};

// Cards with several dies: 1.4 to 1.8.
constexpr GpuField kSocket[] = {
    {"temperature_hotspot", 2, 1, Unit::kCelsius},  {"temperature_mem", 2, 1, Unit::kCelsius},
    {"temperature_vrsoc", 2, 1, Unit::kCelsius},    {"curr_socket_power", 2, 1, Unit::kWatt},
    {"average_gfx_activity", 2, 1, Unit::kPercent}, {"average_umc_activity", 2, 1, Unit::kPercent},
};
constexpr GpuField kVcn[] = {{"vcn_activity", 2, 4, Unit::kPercent}};
constexpr GpuField kJpeg[] = {{"jpeg_activity", 2, 32, Unit::kPercent}};
constexpr GpuField kBandwidth[] = {{"mem_max_bandwidth", 8, 1, Unit::kGbytePerS}};
constexpr GpuField kThrottle[] = {{"throttle_status", 4, 1, Unit::kBits}};
constexpr GpuField kResidencies[] = {
    {"accumulation_counter", 4, 1, Unit::kTicks}, {"prochot_residency_acc", 4, 1, Unit::kTicks},
    {"ppt_residency_acc", 4, 1, Unit::kTicks},    {"socket_thm_residency_acc", 4, 1, Unit::kTicks},
    {"vr_thm_residency_acc", 4, 1, Unit::kTicks}, {"hbm_thm_residency_acc", 4, 1, Unit::kTicks},
};
constexpr GpuField kLinks[] = {
    {"gfxclk_lock_status", 4, 1, Unit::kBits},
    {"pcie_link_width", 2, 1, Unit::kLanes},
    {"pcie_link_speed", 2, 1, Unit::kTenthGts},
    {"xgmi_link_width", 2, 1, Unit::kLanes},
    {"xgmi_link_speed", 2, 1, Unit::kGbitPerS},
    {"gfx_activity_acc", 4, 1, Unit::kPercentTicks},
    {"mem_activity_acc", 4, 1, Unit::kPercentTicks},
    {"pcie_bandwidth_acc", 8, 1, Unit::kGbytePerS},
    {"pcie_bandwidth_inst", 8, 1, Unit::kGbytePerS},
    {"pcie_l0_to_recov_count_acc", 8, 1, Unit::kCount},
    {"pcie_replay_count_acc", 8, 1, Unit::kCount},
    {"pcie_replay_rover_count_acc", 8, 1, Unit::kCount},
};
constexpr GpuField kNaks[] = {{"pcie_nak_sent_count_acc", 4, 1, Unit::kCount},
                              {"pcie_nak_rcvd_count_acc", 4, 1, Unit::kCount}};
constexpr GpuField kXgmi[] = {{"xgmi_read_data_acc", 8, 8, Unit::kKilobytes},
                              {"xgmi_write_data_acc", 8, 8, Unit::kKilobytes}};
constexpr GpuField kXgmiStatus[] = {{"xgmi_link_status", 2, 8, Unit::kRaw},
                                    {nullptr, 2, 1, Unit::kRaw}};
constexpr GpuField kDieClocks[] = {
    {"current_gfxclk", 2, 8, Unit::kMegahertz}, {"current_socclk", 2, 4, Unit::kMegahertz},
    {"current_vclk0", 2, 4, Unit::kMegahertz},  {"current_dclk0", 2, 4, Unit::kMegahertz},
    {"current_uclk", 2, 1, Unit::kMegahertz},
};
constexpr GpuField kPartitions[] = {{"num_partition", 2, 1, Unit::kCount}};
constexpr GpuField kOtherEnd[] = {{"pcie_lc_perf_other_end_recovery", 4, 1, Unit::kCount}};

constexpr GpuField kPartition16[] = {
    {"gfx_busy_inst", 4, 8, Unit::kPercent},
    {"jpeg_busy", 2, 32, Unit::kPercent},
    {"vcn_busy", 2, 4, Unit::kPercent},
    {"gfx_busy_acc", 8, 8, Unit::kPercentTicks},
};
constexpr GpuField kPartition17[] = {
    {"gfx_busy_inst", 4, 8, Unit::kPercent},
    {"jpeg_busy", 2, 32, Unit::kPercent},
    {"vcn_busy", 2, 4, Unit::kPercent},
    {"gfx_busy_acc", 8, 8, Unit::kPercentTicks},
    {"gfx_below_host_limit_acc", 8, 8, Unit::kTicks},
};
constexpr GpuField kPartition18[] = {
    {"gfx_busy_inst", 4, 8, Unit::kPercent},
    {"jpeg_busy", 2, 40, Unit::kPercent},
    {"vcn_busy", 2, 4, Unit::kPercent},
    {"gfx_busy_acc", 8, 8, Unit::kPercentTicks},
    {"gfx_below_host_limit_ppt_acc", 8, 8, Unit::kTicks},
    {"gfx_below_host_limit_thm_acc", 8, 8, Unit::kTicks},
    {"gfx_low_utilization_acc", 8, 8, Unit::kTicks},
    {"gfx_below_host_limit_total_acc", 8, 8, Unit::kTicks},
};

constexpr Fields k14[] = {kSocket, kVcn,  kEnergy,       kClockCounter, kThrottle,
                          kLinks,  kXgmi, kFirmwareTime, kDieClocks,    kGap};
constexpr Fields k15[] = {kSocket, kVcn,  kJpeg, kEnergy,       kClockCounter, kThrottle,
                          kLinks,  kNaks, kXgmi, kFirmwareTime, kDieClocks,    kGap};
constexpr Fields k16[] = {kSocket, kEnergy, kClockCounter, kResidencies, kLinks,
                          kNaks,   kXgmi,   kFirmwareTime, kDieClocks,   kPartitions};
constexpr Fields k17[] = {kSocket,      kBandwidth,    kEnergy,    kClockCounter,
                          kResidencies, kLinks,        kNaks,      kXgmi,
                          kXgmiStatus,  kFirmwareTime, kDieClocks, kPartitions};

// APUs: 2.0 to 2.4. Before 2.4, the units differ between drivers, except those of the clocks.
constexpr GpuField kApuTemperatures[] = {
    {"temperature_gfx", 2, 1, Unit::kRaw},      {"temperature_soc", 2, 1, Unit::kRaw},
    {"temperature_core", 2, 8, Unit::kRaw},     {"temperature_l3", 2, 2, Unit::kRaw},
    {"average_gfx_activity", 2, 1, Unit::kRaw}, {"average_mm_activity", 2, 1, Unit::kRaw},
};
constexpr GpuField kApuPowers[] = {
    {"average_socket_power", 2, 1, Unit::kRaw}, {"average_cpu_power", 2, 1, Unit::kRaw},
    {"average_soc_power", 2, 1, Unit::kRaw},    {"average_gfx_power", 2, 1, Unit::kRaw},
    {"average_core_power", 2, 8, Unit::kRaw},
};
constexpr GpuField kApuClocks[] = {
    {"average_gfxclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_socclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_uclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_fclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_vclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_dclk_frequency", 2, 1, Unit::kMegahertz},
    {"current_gfxclk", 2, 1, Unit::kMegahertz},
    {"current_socclk", 2, 1, Unit::kMegahertz},
    {"current_uclk", 2, 1, Unit::kMegahertz},
    {"current_fclk", 2, 1, Unit::kMegahertz},
    {"current_vclk", 2, 1, Unit::kMegahertz},
    {"current_dclk", 2, 1, Unit::kMegahertz},
    {"current_coreclk", 2, 8, Unit::kMegahertz},
    {"current_l3clk", 2, 2, Unit::kMegahertz},
    {"throttle_status", 4, 1, Unit::kBits},
    {"fan_pwm", 2, 1, Unit::kRaw},
};
constexpr GpuField kGaps3[] = {{nullptr, 2, 3, Unit::kRaw}};
constexpr GpuField kApuAverages[] = {
    {"average_temperature_gfx", 2, 1, Unit::kRaw},
    {"average_temperature_soc", 2, 1, Unit::kRaw},
    {"average_temperature_core", 2, 8, Unit::kRaw},
    {"average_temperature_l3", 2, 2, Unit::kRaw},
};
constexpr GpuField kApuTemperatures24[] = {
    {"temperature_gfx", 2, 1, Unit::kCentiCelsius},
    {"temperature_soc", 2, 1, Unit::kCentiCelsius},
    {"temperature_core", 2, 8, Unit::kCentiCelsius},
    {"temperature_l3", 2, 2, Unit::kCentiCelsius},
    {"average_gfx_activity", 2, 1, Unit::kCentiPercent},
    {"average_mm_activity", 2, 1, Unit::kCentiPercent},
};
constexpr GpuField kApuPowers24[] = {
    {"average_socket_power", 2, 1, Unit::kMilliwatt}, {"average_cpu_power", 2, 1, Unit::kMilliwatt},
    {"average_soc_power", 2, 1, Unit::kMilliwatt},    {"average_gfx_power", 2, 1, Unit::kMilliwatt},
    {"average_core_power", 2, 8, Unit::kMilliwatt},
};
constexpr GpuField kApuAverages24[] = {
    {"average_temperature_gfx", 2, 1, Unit::kCentiCelsius},
    {"average_temperature_soc", 2, 1, Unit::kCentiCelsius},
    {"average_temperature_core", 2, 8, Unit::kCentiCelsius},
    {"average_temperature_l3", 2, 2, Unit::kCentiCelsius},
    {"average_cpu_voltage", 2, 1, Unit::kMillivolt},
    {"average_soc_voltage", 2, 1, Unit::kMillivolt},
    {"average_gfx_voltage", 2, 1, Unit::kMillivolt},
    {"average_cpu_current", 2, 1, Unit::kMilliampere},
    {"average_soc_current", 2, 1, Unit::kMilliampere},
    {"average_gfx_current", 2, 1, Unit::kMilliampere},
};
constexpr Fields k20[] = {kClockCounter, kApuTemperatures, kApuPowers, kApuClocks, kGap};
constexpr Fields k21[] = {kApuTemperatures, kClockCounter, kApuPowers, kApuClocks, kGaps3};
constexpr Fields k22[] = {kApuTemperatures, kClockCounter, kApuPowers,
                          kApuClocks,       kGaps3,        kIndependent};
constexpr Fields k23[] = {kApuTemperatures, kClockCounter, kApuPowers,  kApuClocks,
                          kGaps3,           kIndependent,  kApuAverages};
constexpr Fields k24[] = {kApuTemperatures24, kClockCounter, kApuPowers24, kApuClocks, kGaps3,
                          kIndependent,       kApuAverages24};

// APUs of another make: 3.0.
constexpr GpuField kApu30[] = {
    {"temperature_gfx", 2, 1, Unit::kRaw},
    {"temperature_soc", 2, 1, Unit::kRaw},
    {"temperature_core", 2, 16, Unit::kRaw},
    {"temperature_skin", 2, 1, Unit::kRaw},
    {"average_gfx_activity", 2, 1, Unit::kPercent},
    {"average_vcn_activity", 2, 1, Unit::kPercent},
    {"average_ipu_activity", 2, 8, Unit::kPercent},
    {"average_core_c0_activity", 2, 16, Unit::kPercent},
    {"average_dram_reads", 2, 1, Unit::kMbytePerS},
    {"average_dram_writes", 2, 1, Unit::kMbytePerS},
    {"average_ipu_reads", 2, 1, Unit::kMbytePerS},
    {"average_ipu_writes", 2, 1, Unit::kMbytePerS},
    {"system_clock_counter", 8, 1, Unit::kNs},
    {"average_socket_power", 4, 1, Unit::kMilliwatt},
    {"average_ipu_power", 2, 1, Unit::kMilliwatt},
    {"average_apu_power", 4, 1, Unit::kMilliwatt},
    {"average_gfx_power", 4, 1, Unit::kMilliwatt},
    {"average_dgpu_power", 4, 1, Unit::kMilliwatt},
    {"average_all_core_power", 4, 1, Unit::kMilliwatt},
    {"average_core_power", 2, 16, Unit::kMilliwatt},
    {"average_sys_power", 2, 1, Unit::kMilliwatt},
    {"stapm_power_limit", 2, 1, Unit::kMilliwatt},
    {"current_stapm_power_limit", 2, 1, Unit::kMilliwatt},
    {"average_gfxclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_socclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_vpeclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_ipuclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_fclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_vclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_uclk_frequency", 2, 1, Unit::kMegahertz},
    {"average_mpipu_frequency", 2, 1, Unit::kMegahertz},
    {"current_coreclk", 2, 16, Unit::kMegahertz},
    {"current_core_maxfreq", 2, 1, Unit::kMegahertz},
    {"current_gfx_maxfreq", 2, 1, Unit::kMegahertz},
    {"throttle_residency_prochot", 4, 1, Unit::kTicks},
    {"throttle_residency_spl", 4, 1, Unit::kTicks},
    {"throttle_residency_fppt", 4, 1, Unit::kTicks},
    {"throttle_residency_sppt", 4, 1, Unit::kTicks},
    {"throttle_residency_thm_core", 4, 1, Unit::kTicks},
    {"throttle_residency_thm_gfx", 4, 1, Unit::kTicks},
    {"throttle_residency_thm_soc", 4, 1, Unit::kTicks},
    {"time_filter_alphavalue", 4, 1, Unit::kRaw},
};
constexpr Fields k30[] = {kApu30};

constexpr GpuLayout kLayouts[] = {
    {1, 0, k10, {}, {}},
    {1, 1, k11, {}, {}},
    {1, 2, k12, {}, {}},
    {1, 3, k13, {}, {}},
    {1, 4, k14, {}, {}},
    {1, 5, k15, {}, {}},
    {1, 6, k16, kPartition16, kOtherEnd},
    {1, 7, k17, kPartition17, kOtherEnd},
    {1, 8, k17, kPartition18, kOtherEnd},
    {2, 0, k20, {}, {}},
    {2, 1, k21, {}, {}},
    {2, 2, k22, {}, {}},
    {2, 3, k23, {}, {}},
    {2, 4, k24, {}, {}},
    {3, 0, k30, {}, {}},
};

}  // namespace

std::span<const GpuLayout> gpu_layouts() { return kLayouts; }

const char* unit_text(GpuUnit unit) {
  constexpr const char* kTexts[] = {"",      "C",   "0.01 C",  "%",        "0.01 %",  "W",
                                    "mW",    "mV",  "mA",      "MHz",      "2^-16 J", "ns",
                                    "10 ns", "rpm", "lanes",   "0.1 GT/s", "Gbit/s",  "GB/s",
                                    "MB/s",  "KB",  "% ticks", "ticks",    "",        ""};
  return kTexts[static_cast<int>(unit)];
}

}  // namespace sonde::monitor
