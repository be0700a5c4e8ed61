// A source of metrics: a part of /proc or /sys, or a library. The sampler calls every source at
// every tick; a source puts what it reads into the round, and what it cannot read as well. A source
// never fails: what is missing is reported once, and the rest goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/metric.h"

namespace sonde::monitor {

struct Roots {
  std::string proc = "/proc", sys = "/sys";
};

// One tick, as a source sees it.
class Round {
 public:
  virtual ~Round() = default;

  // Whether it is worth reading; a value that is not wanted is dropped.
  virtual bool wants(Id id) const = 0;
  // A value that holds now.
  virtual void put(Id id, int64_t device, double value) = 0;
  // A value of the time from `from_ns` to now.
  virtual void put_over(Id id, int64_t device, double value, int64_t from_ns) = 0;
  // What a device is called: "eth0", "0000:c1:00.0".
  virtual void name(const char* device_type, int64_t device, std::string_view text) = 0;
  // Something of `group` cannot be read: the file (or library) and why.
  virtual void missing(const char* group, const std::string& what, int error_number) = 0;
  virtual void missing(const char* group, const std::string& what, const std::string& why) = 0;

  int64_t now_ns = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual void read(Round& round) = 0;
};

std::unique_ptr<Source> cpu_source(const Roots& roots);
std::unique_ptr<Source> memory_source(const Roots& roots);
std::unique_ptr<Source> pressure_source(const Roots& roots);
std::unique_ptr<Source> disk_source(const Roots& roots);
std::unique_ptr<Source> network_source(const Roots& roots);
std::unique_ptr<Source> power_source(const Roots& roots);
std::unique_ptr<Source> amdgpu_source(const Roots& roots);
// `library` is libnvidia-ml.so.1 or a stand-in.
std::unique_ptr<Source> nvml_source(const std::string& library);

}  // namespace sonde::monitor
