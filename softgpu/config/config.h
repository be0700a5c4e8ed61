// Config: what the software GPU presents and how it behaves, as plain values. Made by the launcher
// from --gpu, --config and defaults; passed to the preloaded library in a file.
//
// Times are in ns, rates in Hz or bytes/s, sizes in bytes. A value that the user did not give
// defaults to that of the GPU model (models.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace softgpu {

// The device clock: ticks = offset + rate * (host CLOCK_MONOTONIC ns / 1e9) * (1 + drift).
struct ClockConfig {
  uint64_t rate_hz = 100'000'000;
  int64_t offset_ticks = 0;
  int64_t drift_ppb = 0;
};

// How long operations take in device time.
struct TimeModel {
  bool real_time = false;         // computed kernels take as long as on the host
  int64_t kernel_base_ns = 2000;  // per dispatch
  double kernel_item_ns = 0.01;   // plus this per work item
  double copy_bytes_per_s = 25e9;
  int64_t copy_base_ns = 1000;
};

struct GpuConfig {
  std::string model;         // "gfx90a"
  std::string name;          // marketing name
  uint32_t gfx_version = 0;  // 90010: major * 10000 + minor * 100 + step
  uint32_t device_id = 0, revision = 0;
  uint32_t compute_units = 0;
  uint64_t vram_bytes = 0;
  uint32_t shader_clock_mhz = 0, memory_clock_mhz = 0;
  uint32_t pci_domain = 0, pci_bus = 0;
  bool large_bar = false;
  ClockConfig clock;
  TimeModel time;
};

enum class FaultKind {
  kMemoryFault,         // page not present at `address`
  kIllegalInstruction,  // queue errors, reported as by the runtime
  kInvalidPacket,
  kException,
  kApertureViolation,
  kHang,        // the packet never completes
  kEcc,         // uncorrectable memory error
  kDeviceLost,  // every queue of the GPU stops
};

// Strikes once, at the `dispatch`-th dispatch (from 1) that matches gpu and kernel.
struct FaultRule {
  FaultKind kind = FaultKind::kMemoryFault;
  int32_t gpu = -1;    // -1 = any
  std::string kernel;  // "" = any; else a part of the name
  uint64_t dispatch = 1;
  uint64_t address = 0xdead0000000;
};

// How kernels are computed.
enum class EngineChoice {
  kAuto,  // host code if there is some, else machine code
  kHost,  // host code (softgpu-hipcc)
  kIsa,   // machine code
  kNone,  // kernels complete without computing
};

// The version of /dev/kfd: 1.8 (Linux 5.18) to 1.18. Calls that a version lacks fail as they do
// there.
constexpr uint32_t kFirstKfdMinor = 8, kLastKfdMinor = 18;

struct Config {
  std::vector<GpuConfig> gpus;
  std::vector<FaultRule> faults;
  std::string log_path;           // of the oracle; "" = none
  std::string waves_path;         // for samples and states of waves; "" = none
  uint64_t sample_every = 0;      // a wave's instructions between samples; 0 = no samples
  bool check_memory = false;      // an invalid memory access in machine code ends its kernel
  bool check_races = false;       // report races between the waves of a work-group
  std::string instructions_path;  // log of all instructions; "" = none
  std::string tree;               // directory with the /sys, /dev and /proc that this process sees
  int log_level = 0;              // of diagnostics on stderr
  uint32_t kfd_minor = 17;        // the version of KFD's interface is 1.this
  EngineChoice engine = EngineChoice::kAuto;
  std::string coverage_path;  // records the machine instructions executed; "" = none
  int threads = 0;            // for computing kernels; 0 = one per core
};

}  // namespace softgpu
