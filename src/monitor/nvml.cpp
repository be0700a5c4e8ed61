// NVIDIA GPUs by NVML, which is opened at run time; its few calls are declared here (they are part
// of every libnvidia-ml.so.1 since 2012 but for the _v2 ones, since 2014).
#include <dlfcn.h>

#include <cerrno>
#include <vector>

#include "base/strings.h"
#include "monitor/source.h"

namespace sonde::monitor {

namespace {

using Handle = struct NvmlDevice*;
struct Utilization {
  unsigned gpu, memory;  // percent
};
struct Memory {
  unsigned long long total, free, used;
};
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
constexpr int kOk = 0, kNoPermission = 4;
constexpr unsigned kTemperatureGpu = 0, kClockSm = 1, kClockMemory = 2;

class NvmlSource : public Source {
 public:
  explicit NvmlSource(std::string library) : name_(std::move(library)) {}
  ~NvmlSource() override {
    if (library_ == nullptr) return;
    if (shut_down_ != nullptr && begun_) shut_down_();
    ::dlclose(library_);
  }

  void read(Round& round) override {
    if (!opened_) open(round);
    for (size_t i = 0; i < devices_.size(); ++i) read_device(round, static_cast<int64_t>(i));
  }

 private:
  template <typename F>
  bool find(F& function, const char* symbol) {
    function = reinterpret_cast<F>(::dlsym(library_, symbol));
    return function != nullptr;
  }

  void open(Round& round) {
    opened_ = true;
    library_ = ::dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return round.missing("gpu", name_, "NVIDIA's driver is not installed");
    int (*init)() = nullptr;
    int (*count_devices)(unsigned*) = nullptr;
    int (*handle_by_index)(unsigned, Handle*) = nullptr;
    int (*pci_info)(Handle, PciInfo*) = nullptr;
    find(pci_info, "nvmlDeviceGetPciInfo_v3");
    find(error_text_, "nvmlErrorString");
    find(shut_down_, "nvmlShutdown");
    find(utilization_, "nvmlDeviceGetUtilizationRates");
    find(memory_, "nvmlDeviceGetMemoryInfo");
    find(power_, "nvmlDeviceGetPowerUsage");
    find(temperature_, "nvmlDeviceGetTemperature");
    find(clock_, "nvmlDeviceGetClockInfo");
    // Newer drivers call throttling an event.
    find(throttle_, "nvmlDeviceGetCurrentClocksEventReasons") ||
        find(throttle_, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (!find(init, "nvmlInit_v2") || !find(count_devices, "nvmlDeviceGetCount_v2") ||
        !find(handle_by_index, "nvmlDeviceGetHandleByIndex_v2")) {
      return round.missing("gpu", name_, "not the library that it should be");
    }
    if (const int error = init(); error != kOk) return failed(round, "nvmlInit", error);
    begun_ = true;
    unsigned count = 0;
    if (const int error = count_devices(&count); error != kOk) {
      return failed(round, "nvmlDeviceGetCount", error);
    }
    for (unsigned i = 0; i < count; ++i) {
      Handle handle = nullptr;
      if (const int error = handle_by_index(i, &handle); error != kOk) {
        failed(round, "nvmlDeviceGetHandleByIndex", error);
      }
      PciInfo info = {};
      const bool known = handle != nullptr && pci_info != nullptr && pci_info(handle, &info) == kOk;
      round.name("gpu", static_cast<int64_t>(devices_.size()), known ? address_of(info) : "");
      devices_.push_back(handle);
    }
  }

  static std::string address_of(const PciInfo& info) {
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", info.domain, info.bus, info.device);
    return text;
  }

  void failed(Round& round, const char* call, int error) const {
    if (error == kNoPermission) return round.missing("gpu", std::string("NVML: ") + call, EPERM);
    round.missing("gpu", std::string("NVML: ") + call,
                  error_text_ != nullptr ? error_text_(error) : "error " + std::to_string(error));
  }

  // Calls what there is; a card that does not know a value has none.
  template <typename F, typename... A>
  bool ask(Round& round, const char* what, F function, A... arguments) const {
    constexpr int kNotSupported = 3;
    if (function == nullptr) return false;
    const int error = function(arguments...);
    if (error != kOk && error != kNotSupported) failed(round, what, error);
    return error == kOk;
  }

  void read_device(Round& round, int64_t number) {
    const Handle device = devices_[static_cast<size_t>(number)];
    if (device == nullptr) return;
    const auto put = [&](Id id, double value) {
      if (round.wants(id)) round.put(id, number, value);
    };
    Utilization use = {};
    if ((round.wants(Id::kGpuBusy) || round.wants(Id::kGpuMemoryBusy)) &&
        ask(round, "nvmlDeviceGetUtilizationRates", utilization_, device, &use)) {
      put(Id::kGpuBusy, use.gpu);
      put(Id::kGpuMemoryBusy, use.memory);
    }
    Memory memory = {};
    if (round.wants(Id::kGpuMemory) &&
        ask(round, "nvmlDeviceGetMemoryInfo", memory_, device, &memory)) {
      put(Id::kGpuMemory, static_cast<double>(memory.used));
    }
    unsigned value = 0;
    if (round.wants(Id::kGpuPower) &&
        ask(round, "nvmlDeviceGetPowerUsage", power_, device, &value)) {
      put(Id::kGpuPower, value / 1000.0);
    }
    if (round.wants(Id::kGpuEdge) &&
        ask(round, "nvmlDeviceGetTemperature", temperature_, device, kTemperatureGpu, &value)) {
      put(Id::kGpuEdge, value);
    }
    if (round.wants(Id::kGpuClock) &&
        ask(round, "nvmlDeviceGetClockInfo", clock_, device, kClockSm, &value)) {
      put(Id::kGpuClock, value);
    }
    if (round.wants(Id::kGpuMemoryClock) &&
        ask(round, "nvmlDeviceGetClockInfo", clock_, device, kClockMemory, &value)) {
      put(Id::kGpuMemoryClock, value);
    }
    unsigned long long reasons = 0;
    constexpr unsigned long long kIdle = 1;  // a clock that is low because there is nothing to do
    if (round.wants(Id::kGpuThrottle) &&
        ask(round, "nvmlDeviceGetCurrentClocksThrottleReasons", throttle_, device, &reasons)) {
      put(Id::kGpuThrottle, static_cast<double>(reasons & ~kIdle));
    }
  }

  std::string name_;
  void* library_ = nullptr;
  bool opened_ = false, begun_ = false;
  std::vector<Handle> devices_;
  const char* (*error_text_)(int) = nullptr;
  int (*shut_down_)() = nullptr;
  int (*utilization_)(Handle, Utilization*) = nullptr;
  int (*memory_)(Handle, Memory*) = nullptr;
  int (*power_)(Handle, unsigned*) = nullptr;
  int (*temperature_)(Handle, unsigned, unsigned*) = nullptr;
  int (*clock_)(Handle, unsigned, unsigned*) = nullptr;
  int (*throttle_)(Handle, unsigned long long*) = nullptr;
};

}  // namespace

std::unique_ptr<Source> nvml_source(const std::string& library) {
  return std::make_unique<NvmlSource>(library);
}

}  // namespace sonde::monitor
