#include "monitor/nvml.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdio>

#include "monitor/source.h"

namespace sonde::monitor {

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  if (shut_down_ != nullptr && begun_) shut_down_();
  ::dlclose(library_);
}

template <typename F>
bool Nvml::find(F& function, const char* symbol) {
  function = reinterpret_cast<F>(::dlsym(library_, symbol));
  return function != nullptr;
}

void Nvml::find_calls() {
  find(error_text_, "nvmlErrorString");
  find(shut_down_, "nvmlShutdown");
  find(calls_.name, "nvmlDeviceGetName");
  find(calls_.uuid, "nvmlDeviceGetUUID");
  find(calls_.serial, "nvmlDeviceGetSerial");
  find(calls_.pci_info, "nvmlDeviceGetPciInfo_v3");
  find(calls_.utilization, "nvmlDeviceGetUtilizationRates");
  find(calls_.decoder, "nvmlDeviceGetDecoderUtilization");
  find(calls_.memory, "nvmlDeviceGetMemoryInfo");
  find(calls_.memory_apart, "nvmlDeviceGetMemoryInfo_v2");
  find(calls_.power, "nvmlDeviceGetPowerUsage");
  find(calls_.power_cap, "nvmlDeviceGetEnforcedPowerLimit");
  find(calls_.energy, "nvmlDeviceGetTotalEnergyConsumption");
  find(calls_.temperature, "nvmlDeviceGetTemperature");
  find(calls_.clock, "nvmlDeviceGetClockInfo");
  find(calls_.fan, "nvmlDeviceGetFanSpeed");
  // Newer drivers call throttling an event.
  find(calls_.throttle, "nvmlDeviceGetCurrentClocksEventReasons") ||
      find(calls_.throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(calls_.ecc, "nvmlDeviceGetTotalEccErrors");
  find(calls_.pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  find(calls_.pcie_lanes, "nvmlDeviceGetCurrPcieLinkWidth");
  find(calls_.pcie_replays, "nvmlDeviceGetPcieReplayCounter");
  find(calls_.fields, "nvmlDeviceGetFieldValues");
  find(calls_.compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  find(calls_.graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3");
}

void Nvml::open() {
  library_ = ::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    problems_.push_back({file_, "NVIDIA's driver is not installed"});
    return;
  }
  find_calls();
  int (*init)() = nullptr;
  int (*count_devices)(unsigned*) = nullptr;
  int (*handle_by_index)(unsigned, nvml::Device*) = nullptr;
  if (!find(init, "nvmlInit_v2") || !find(count_devices, "nvmlDeviceGetCount_v2") ||
      !find(handle_by_index, "nvmlDeviceGetHandleByIndex_v2")) {
    problems_.push_back({file_, "not the library that it should be"});
    return;
  }
  begun_ = ask("nvmlInit", init);
  unsigned count = 0;
  if (!begun_ || !ask("nvmlDeviceGetCount", count_devices, &count)) return;
  for (unsigned i = 0; i < count; ++i) {
    nvml::Device device = nullptr;
    ask("nvmlDeviceGetHandleByIndex", handle_by_index, i, &device);
    devices_.push_back(device);
  }
}

std::span<const nvml::Device> Nvml::devices() {
  if (!std::exchange(opened_, true)) open();
  return devices_;
}

void Nvml::failed(const char* call, int error) {
  problems_.push_back(
      {std::string("NVML: ") + call,
       error_text_ != nullptr ? error_text_(error) : "error " + std::to_string(error),
       error == nvml::kNoPermission, error == nvml::kGpuIsLost});
}

std::string Nvml::address(nvml::Device device) {
  nvml::PciInfo info = {};
  if (device == nullptr || !ask("nvmlDeviceGetPciInfo", calls_.pci_info, device, &info)) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", info.domain, info.bus, info.device);
  return text;
}

std::optional<nvml::Memory> Nvml::memory(nvml::Device device) {
  nvml::MemoryApart apart = {};
  apart.version = sizeof apart | 2u << 24;
  if (calls_.memory_apart != nullptr && calls_.memory_apart(device, &apart) == nvml::kOk) {
    return nvml::Memory{apart.total, apart.free, apart.used};
  }
  nvml::Memory memory = {};
  if (!ask("nvmlDeviceGetMemoryInfo", calls_.memory, device, &memory)) return std::nullopt;
  return memory;
}

std::optional<unsigned> Nvml::memory_temperature_c(nvml::Device device) {
  nvml::Field field = {};
  field.id = nvml::kMemoryTemperature;
  const bool known = ask("nvmlDeviceGetFieldValues", calls_.fields, device, 1, &field) &&
                     field.result == nvml::kOk && field.value.whole != 0;
  return known ? std::optional(field.value.whole) : std::nullopt;
}

namespace {

class NvmlSource : public Source {
 public:
  explicit NvmlSource(const std::string& library) : nvml_(library) {}

  void read(Round& round) override {
    const auto devices = nvml_.devices();
    for (size_t i = 0; i < devices.size(); ++i) {
      const auto number = static_cast<int64_t>(i);
      if (!named_) round.name("gpu", number, nvml_.address(devices[i]));
      if (devices[i] != nullptr) read_device(round, number, devices[i]);
    }
    named_ = true;
    for (const Nvml::Problem& problem : nvml_.take_problems()) {
      if (problem.denied) {
        round.missing("gpu", problem.what, EPERM);
      } else {
        round.missing("gpu", problem.what, problem.why);
      }
    }
  }

 private:
  void read_device(Round& round, int64_t number, nvml::Device device) {
    const nvml::Calls& calls = nvml_.calls();
    const auto put = [&](Id id, double value) { round.put(id, number, value); };
    nvml::Utilization use = {};
    if ((round.wants(Id::kGpuBusy) || round.wants(Id::kGpuMemoryBusy)) &&
        nvml_.ask("nvmlDeviceGetUtilizationRates", calls.utilization, device, &use)) {
      put(Id::kGpuBusy, use.gpu);
      put(Id::kGpuMemoryBusy, use.memory);
    }
    if (round.wants(Id::kGpuMemory)) {
      if (const auto memory = nvml_.memory(device)) {
        put(Id::kGpuMemory, static_cast<double>(memory->used));
      }
    }
    unsigned value = 0;
    if (round.wants(Id::kGpuPower) &&
        nvml_.ask("nvmlDeviceGetPowerUsage", calls.power, device, &value)) {
      put(Id::kGpuPower, value / 1000.0);
    }
    if (round.wants(Id::kGpuEdge) && nvml_.ask("nvmlDeviceGetTemperature", calls.temperature,
                                               device, nvml::kTemperatureGpu, &value)) {
      put(Id::kGpuEdge, value);
    }
    if (const auto degrees = round.wants(Id::kGpuMemoryTemperature)
                                 ? nvml_.memory_temperature_c(device)
                                 : std::nullopt) {
      put(Id::kGpuMemoryTemperature, *degrees);
    }
    unsigned period_us = 0;
    if (round.wants(Id::kGpuMedia) &&
        nvml_.ask("nvmlDeviceGetDecoderUtilization", calls.decoder, device, &value, &period_us)) {
      put(Id::kGpuMedia, value);
    }
    const auto put_clock = [&](Id id, unsigned clock) {
      if (round.wants(id) &&
          nvml_.ask("nvmlDeviceGetClockInfo", calls.clock, device, clock, &value)) {
        put(id, value);
      }
    };
    put_clock(Id::kGpuClock, nvml::kClockSm);
    put_clock(Id::kGpuMemoryClock, nvml::kClockMemory);
    unsigned long long reasons = 0;
    constexpr unsigned long long kIdle = 1;  // a clock that is low because there is nothing to do
    if (round.wants(Id::kGpuThrottle) &&
        nvml_.ask("nvmlDeviceGetCurrentClocksThrottleReasons", calls.throttle, device, &reasons)) {
      put(Id::kGpuThrottle, static_cast<double>(reasons & ~kIdle));
    }
  }

  Nvml nvml_;
  bool named_ = false;
};

}  // namespace

std::unique_ptr<Source> nvml_source(const std::string& library) {
  return std::make_unique<NvmlSource>(library);
}

}  // namespace sonde::monitor
