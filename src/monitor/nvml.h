// NVML, the library through which NVIDIA's driver reports on its GPUs. It is opened at run time,
// and the few calls that are needed are declared here. They are part of every libnvidia-ml.so.1
// since 2012, those whose names end in _v2 since 2014, in _v3 since 2021; what a driver lacks is
// not there. Used by the source of metrics and by the Watcher.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sonde::monitor {

namespace nvml {

using Device = struct DeviceOfNvml*;

constexpr int kOk = 0, kNotSupported = 3, kNoPermission = 4, kNotFound = 6, kTooSmall = 7,
              kGpuIsLost = 15;  // off the bus, until the next start of the machine or the driver
constexpr unsigned kTemperatureGpu = 0, kClockSm = 1, kClockMemory = 2;
constexpr unsigned kCorrected = 0, kUncorrected = 1, kSinceLoaded = 0;

struct Utilization {
  unsigned gpu, memory;  // percent
};
struct Memory {  // bytes; what the driver keeps for itself counts as used
  unsigned long long total, free, used;
};
struct MemoryApart {  // the same, from driver 510 on, with what the driver keeps apart
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct Process {
  unsigned pid;
  unsigned long long used_bytes;  // all ones: not known, as in a container
  unsigned gpu_instance, compute_instance;
};
struct Field {
  unsigned id, scope;
  long long timestamp, latency_us;
  int value_type, result;
  union {
    double real;
    unsigned whole;
    unsigned long long wide;
  } value;
};
constexpr unsigned kMemoryTemperature = 82;  // of Field::id

// Null where the library does not have it.
struct Calls {
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*serial)(Device, char*, unsigned) = nullptr;
  int (*pci_info)(Device, PciInfo*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*decoder)(Device, unsigned*, unsigned*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*memory_apart)(Device, MemoryApart*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;             // mW
  int (*power_cap)(Device, unsigned*) = nullptr;         // mW
  int (*energy)(Device, unsigned long long*) = nullptr;  // mJ
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;  // MHz
  int (*fan)(Device, unsigned*) = nullptr;              // percent
  int (*throttle)(Device, unsigned long long*) = nullptr;
  int (*ecc)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*pcie_generation)(Device, unsigned*) = nullptr;
  int (*pcie_lanes)(Device, unsigned*) = nullptr;
  int (*pcie_replays)(Device, unsigned*) = nullptr;
  int (*fields)(Device, int, Field*) = nullptr;
  int (*compute_processes)(Device, unsigned*, Process*) = nullptr;
  int (*graphics_processes)(Device, unsigned*, Process*) = nullptr;
};

}  // namespace nvml

class Nvml {
 public:
  // `file` is libnvidia-ml.so.1 or a stand-in.
  explicit Nvml(std::string file) : file_(std::move(file)) {}
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // In NVML's order, null where a GPU may not be used. The first call opens the library; without
  // it there are none.
  std::span<const nvml::Device> devices();
  const nvml::Calls& calls() const { return calls_; }

  // Calls what there is; false where the library or the GPU does not have it. What goes wrong in
  // another way is a problem.
  template <typename Call, typename... A>
  bool ask(const char* name, Call call, A... arguments) {
    return call != nullptr && is_good(name, call(arguments...));
  }
  // The same of a call's answer.
  bool is_good(const char* name, int error) {
    if (error != nvml::kOk && error != nvml::kNotSupported && error != nvml::kNotFound) {
      failed(name, error);
    }
    return error == nvml::kOk;
  }

  std::string address(nvml::Device device);  // "0000:c1:00.0", as in sysfs
  // Bytes that programs use, without what the driver keeps for itself if it reports that.
  std::optional<nvml::Memory> memory(nvml::Device device);
  std::optional<unsigned> memory_temperature_c(nvml::Device device);

  struct Problem {
    std::string what, why;
    bool denied = false, lost = false;
  };
  // Those since the last call.
  std::vector<Problem> take_problems() { return std::exchange(problems_, {}); }

 private:
  template <typename F>
  bool find(F& function, const char* symbol);
  void find_calls();
  void open();
  void failed(const char* call, int error);

  std::string file_;
  void* library_ = nullptr;
  bool opened_ = false, begun_ = false;
  nvml::Calls calls_;
  const char* (*error_text_)(int) = nullptr;
  int (*shut_down_)() = nullptr;
  std::vector<nvml::Device> devices_;
  std::vector<Problem> problems_;
};

}  // namespace sonde::monitor
