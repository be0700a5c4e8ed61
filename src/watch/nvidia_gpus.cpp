#include "watch/nvidia_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "watch/judge.h"

namespace sonde::watch {

namespace nvml = monitor::nvml;

namespace {

constexpr double kThousandth = 1e-3;
constexpr unsigned long long kUnknownBytes = ~0ull;
constexpr unsigned kMostProcesses = 4096;

// GT/s per lane, by PCIe generation.
Real transfers_of(unsigned generation) {
  constexpr double kRates[] = {2.5, 5, 8, 16, 32, 64};
  if (generation == 0 || generation > std::size(kRates)) return std::nullopt;
  return kRates[generation - 1];
}

}  // namespace

Gpu NvidiaGpus::fixed_of(nvml::Device device) {
  const nvml::Calls& calls = nvml_.calls();
  Gpu gpu;
  gpu.vendor = "NVIDIA";
  gpu.name = "NVIDIA GPU";
  gpu.address = nvml_.address(device);
  if (device == nullptr) return gpu;
  const auto text = [&](const char* call, int (*function)(nvml::Device, char*, unsigned),
                        std::string& into) {
    char buffer[96] = {};
    if (!nvml_.ask(call, function, device, buffer, static_cast<unsigned>(sizeof buffer - 1)))
      return;
    into = buffer;
  };
  text("nvmlDeviceGetName", calls.name, gpu.name);
  text("nvmlDeviceGetUUID", calls.uuid, gpu.unique_id);
  text("nvmlDeviceGetSerial", calls.serial, gpu.serial);
  return gpu;
}

void NvidiaGpus::read_health(nvml::Device device, Gpu& gpu) {
  const nvml::Calls& calls = nvml_.calls();
  unsigned value = 0;
  if (nvml_.ask("nvmlDeviceGetTemperature", calls.temperature, device, nvml::kTemperatureGpu,
                &value)) {
    gpu.edge_c = value;
  }
  if (const auto degrees = nvml_.memory_temperature_c(device)) gpu.memory_c = *degrees;
  if (nvml_.ask("nvmlDeviceGetFanSpeed", calls.fan, device, &value)) gpu.fan_percent = value;
  unsigned long long reasons = 0;
  if (nvml_.ask("nvmlDeviceGetCurrentClocksThrottleReasons", calls.throttle, device, &reasons)) {
    gpu.throttles = nvidia_throttles(reasons);
  }
  const auto count = [&](unsigned kind, Whole& into) {
    unsigned long long errors = 0;
    if (nvml_.ask("nvmlDeviceGetTotalEccErrors", calls.ecc, device, kind, nvml::kSinceLoaded,
                  &errors)) {
      into = static_cast<int64_t>(errors);
    }
  };
  count(nvml::kCorrected, gpu.ecc_corrected);
  count(nvml::kUncorrected, gpu.ecc_uncorrected);
}

void NvidiaGpus::read_link(nvml::Device device, Gpu& gpu) {
  const nvml::Calls& calls = nvml_.calls();
  unsigned value = 0;
  if (nvml_.ask("nvmlDeviceGetCurrPcieLinkGeneration", calls.pcie_generation, device, &value)) {
    gpu.pcie_gts = transfers_of(value);
  }
  if (nvml_.ask("nvmlDeviceGetCurrPcieLinkWidth", calls.pcie_lanes, device, &value)) {
    gpu.pcie_lanes = value;
  }
  if (nvml_.ask("nvmlDeviceGetPcieReplayCounter", calls.pcie_replays, device, &value)) {
    gpu.pcie_replays = value;
  }
}

void NvidiaGpus::read(nvml::Device device, Gpu& gpu) {
  const nvml::Calls& calls = nvml_.calls();
  nvml::Utilization use = {};
  if (nvml_.ask("nvmlDeviceGetUtilizationRates", calls.utilization, device, &use)) {
    gpu.busy_percent = use.gpu;
    gpu.memory_busy_percent = use.memory;
  }
  if (const auto memory = nvml_.memory(device)) {
    gpu.vram_used_bytes = static_cast<int64_t>(memory->used);
    gpu.vram_total_bytes = static_cast<int64_t>(memory->total);
  }
  unsigned value = 0, period_us = 0;
  if (nvml_.ask("nvmlDeviceGetDecoderUtilization", calls.decoder, device, &value, &period_us)) {
    gpu.media_percent = value;
  }
  if (nvml_.ask("nvmlDeviceGetPowerUsage", calls.power, device, &value)) {
    gpu.power_w = value * kThousandth;
  }
  if (nvml_.ask("nvmlDeviceGetEnforcedPowerLimit", calls.power_cap, device, &value)) {
    gpu.power_cap_w = value * kThousandth;
  }
  unsigned long long energy = 0;
  if (nvml_.ask("nvmlDeviceGetTotalEnergyConsumption", calls.energy, device, &energy)) {
    gpu.energy_j = static_cast<double>(energy) * kThousandth;
  }
  if (nvml_.ask("nvmlDeviceGetClockInfo", calls.clock, device, nvml::kClockSm, &value)) {
    gpu.sclk_mhz = value;
  }
  if (nvml_.ask("nvmlDeviceGetClockInfo", calls.clock, device, nvml::kClockMemory, &value)) {
    gpu.mclk_mhz = value;
  }
  read_health(device, gpu);
  read_link(device, gpu);
}

// A process that uses both compute and graphics is in both lists, with the same memory.
void NvidiaGpus::read_processes(nvml::Device device, int64_t gpu, std::vector<ProcessUse>& uses) {
  const nvml::Calls& calls = nvml_.calls();
  for (const auto call : {calls.compute_processes, calls.graphics_processes}) {
    if (call == nullptr) continue;
    std::vector<nvml::Process> found(64);
    int error = nvml::kTooSmall;
    auto count = static_cast<unsigned>(found.size());
    // The count may be out of date by the next call.
    while ((error = call(device, &count, found.data())) == nvml::kTooSmall &&
           found.size() < kMostProcesses) {
      found.resize(2 * found.size());
      count = static_cast<unsigned>(found.size());
    }
    if (!nvml_.is_good("nvmlDeviceGetComputeRunningProcesses", error)) continue;
    for (unsigned i = 0; i < count && i < found.size(); ++i) {
      const nvml::Process& process = found[i];
      const auto same = [&](const ProcessUse& use) {
        return use.pid == process.pid && use.use.gpu == gpu;
      };
      if (std::any_of(uses.begin(), uses.end(), same)) continue;
      GpuUse use;
      use.gpu = gpu;
      if (process.used_bytes != kUnknownBytes) {
        use.vram_bytes = static_cast<int64_t>(process.used_bytes);
      }
      uses.push_back({process.pid, use});
    }
  }
}

std::vector<ProcessUse> NvidiaGpus::look(Snapshot& snapshot) {
  std::vector<ProcessUse> uses;
  const auto devices = nvml_.devices();
  auto problems = nvml_.take_problems();
  for (size_t i = 0; i < devices.size(); ++i) {
    if (fixed_.size() <= i) fixed_.push_back(fixed_of(devices[i]));
    Gpu gpu = fixed_[i];
    gpu.number = static_cast<int64_t>(snapshot.gpus.size());
    if (devices[i] != nullptr) {
      read(devices[i], gpu);
      read_processes(devices[i], gpu.number, uses);
    }
    for (auto& problem : nvml_.take_problems()) {
      if (problem.lost) {
        gpu.state = GpuState::kGone;  // which an alert tells, instead of every call that fails
      } else {
        problems.push_back(std::move(problem));
      }
    }
    snapshot.gpus.push_back(std::move(gpu));
  }
  // A machine without NVIDIA's driver has no NVIDIA GPUs; that is not worth a message.
  if (devices.empty()) return uses;
  for (const auto& problem : problems) {
    std::string line = fmt::format("gpu: {}: {}", problem.what, problem.why);
    const auto& known = snapshot.missing;
    if (std::find(known.begin(), known.end(), line) == known.end()) {
      snapshot.missing.push_back(std::move(line));
    }
  }
  return uses;
}

}  // namespace sonde::watch
