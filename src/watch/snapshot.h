// Snapshot: the state of the GPUs, of the processes that use them and of the host at one moment, as
// plain values. Made by Watcher (watcher.h), interpreted by judge.h, shown by tables.h. Unknown
// values are absent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "monitor/metric.h"

namespace sonde::watch {

using Real = std::optional<double>;
using Whole = std::optional<int64_t>;

enum class GpuState {
  kAwake,
  kAsleep,  // suspended by the kernel; only files that do not wake it were read
  kGone,    // was there earlier
};

// Why clocks are throttled, and in which share of the time since the previous poll, if the firmware
// reports that.
struct Throttle {
  std::string reason;
  Real percent;
};

struct Partition {
  int64_t number = 0;
  Real busy_percent;  // mean of its compute dies
};

// A field of gpu_metrics, as stored there.
struct TableValue {
  std::string field;  // "xcp0.gfx_busy_inst[2]"
  Whole value;
  std::string unit;
};

// Errors counted by a block of the GPU ("umc") since the driver was loaded.
struct BlockErrors {
  std::string block;
  Whole corrected, uncorrected, deferred;
};

struct Gpu {
  int64_t number = 0;   // in the runtimes' numbering
  std::string address;  // "0000:c1:00.0"
  std::string vendor;   // "AMD", "NVIDIA"
  std::string name, target, unique_id, serial, device_id;
  GpuState state = GpuState::kAwake;

  Real busy_percent, memory_busy_percent, media_percent;
  Whole vram_used_bytes, vram_total_bytes, gtt_used_bytes, gtt_total_bytes;
  Real power_w, power_cap_w, energy_j;
  Real edge_c, junction_c, memory_c;
  Real junction_limit_c, memory_limit_c;  // where the card throttles or shuts down
  Real sclk_mhz, mclk_mhz, fan_percent, fan_rpm;
  Whole pcie_lanes;
  Real pcie_gts;  // GT/s per lane
  Real xgmi_read_bytes_s, xgmi_written_bytes_s;
  Whole xgmi_read_kb, xgmi_written_kb;  // over all links, since the driver was loaded
  std::vector<BlockErrors> block_errors;
  Whole ecc_corrected, ecc_uncorrected, pcie_replays;
  std::string performance_level, compute_partition, memory_partition;
  Whole compute_units;
  std::vector<Throttle> throttles;
  std::vector<Partition> partitions;
  Whole power_of;  // the GPU with the power sensor of both dies of a card

  std::string table_version;            // of gpu_metrics
  std::vector<TableValue> table;        // if requested
  std::vector<std::string> unreadable;  // what exists and cannot be read, and why
};

// A process on one GPU.
struct GpuUse {
  int64_t gpu = 0;
  Whole vram_bytes;
  Whole cus;          // with waves at the moment of reading
  Real sdma_percent;  // of the time since the previous poll
  Whole evicted_ms, sdma_us;
  Whole queues;
};

struct Process {
  int64_t pid = 0;
  std::string name, command, user;
  std::string job, step, rank, container;  // "slurm:123", "0", "3", "docker:0123456789ab"
  Real cpu_percent;
  Whole rss_bytes;
  std::vector<GpuUse> gpus;

  Whole vram_bytes() const {
    Whole sum;
    for (const GpuUse& use : gpus) {
      if (use.vram_bytes) sum = sum.value_or(0) + *use.vram_bytes;
    }
    return sum;
  }
};

struct Host {
  Real cpu_percent, load1;
  Whole cores;
  Real memory_used_bytes, memory_available_bytes, swap_used_bytes;
  Real cpu_pressure, io_pressure, memory_pressure;  // percent of the time in which some task waited
  Real disk_read_bytes_s, disk_written_bytes_s, received_bytes_s, sent_bytes_s;
};

enum class Severity { kNote, kWarning, kTrouble };

// Something that an administrator would like to know, with the reason.
struct Alert {
  Severity severity = Severity::kNote;
  Whole gpu;
  std::string what;  // "throttled", "full", "idle", "little work", "ecc", "hot", "gone", "asleep"
  std::string why;
};

struct Snapshot {
  int64_t time_ns = 0;       // CLOCK_MONOTONIC
  int64_t unix_time_ns = 0;  // CLOCK_REALTIME
  std::vector<Gpu> gpus;
  std::vector<Process> processes;
  Host host;
  std::vector<Alert> alerts;
  std::vector<std::string> missing;  // sources that cannot be read at all, and why

  const Gpu* gpu(int64_t number) const {
    for (const Gpu& each : gpus) {
      if (each.number == number) return &each;
    }
    return nullptr;
  }
};

}  // namespace sonde::watch
