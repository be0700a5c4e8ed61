// Sampler: reads the chosen metrics at a fixed rate and passes them on as values over times, like
// rows of rocpd_monitor are. A value that does not change is one row.
//
// Its owner calls tick() at due_ns() or later: deadlines are multiples of the period after the
// first tick, and those that were missed are counted. Used by the recorder, in its one thread;
// nothing of it runs in the traced program.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "monitor/process.h"
#include "monitor/source.h"

namespace sonde::monitor {

struct Settings {
  Selection metrics;
  std::string list;  // as it was asked for; what is named there is missed aloud
  uint32_t hz = 10;
  Roots roots;
  std::string nvml = "libnvidia-ml.so.1";
};

// A metric that had `value` from `start_ns` to `end_ns`.
struct Reading {
  Id id;
  int64_t device;
  int64_t start_ns, end_ns;
  std::string value;
};

// What could not be read, and why; once for each.
struct Missing {
  std::string group, what, why;
  int error_number = 0;  // 0: no error of the system
  bool is_denied() const;
  std::string to_line() const;  // "power: /sys/class/...: Permission denied"
};

struct DeviceName {
  std::string device_type;
  int64_t device = 0;
  std::string name;
};

class Sampler {
 public:
  using Sink = std::function<void(const Reading&)>;
  Sampler(const Settings& settings, Sink sink);
  ~Sampler();

  int64_t due_ns() const { return due_ns_; }
  // Reads everything; `processes` are those that are traced now.
  void tick(int64_t now_ns, std::span<const int64_t> processes);
  // Reads one process out of turn: it is about to go.
  void last_look(int64_t now_ns, int64_t pid);
  // Takes the GPUs of another sysfs than that of this machine.
  void use_gpu_roots(const Roots& roots);
  // Tells what is still held back; the values go on.
  void flush();

  const std::vector<Missing>& missing() const { return missing_; }
  const std::vector<DeviceName>& names() const { return names_; }
  uint64_t ticks() const { return ticks_; }
  uint64_t missed() const { return missed_; }   // ticks that never were
  int64_t cost_ns() const { return cost_ns_; }  // CPU time of all ticks

 private:
  class Tick;
  struct Series {
    int64_t start_ns = 0, end_ns = 0;
    double value = 0;
    bool told = false;  // up to start_ns
  };
  using Key = std::pair<Id, int64_t>;

  void hold(Id id, int64_t device, double value, int64_t start_ns, int64_t end_ns, bool holds_on);
  void tell(const Key& key, const Series& series);
  void end_process(int64_t pid);

  Settings settings_;
  Sink sink_;
  std::vector<std::unique_ptr<Source>> sources_, gpus_;
  std::map<int64_t, ProcessReader> processes_;
  std::map<Key, Series> series_;
  std::vector<Missing> missing_;
  std::vector<DeviceName> names_;
  int64_t period_ns_, due_ns_ = 0;
  uint64_t ticks_ = 0, missed_ = 0;
  int64_t cost_ns_ = 0;
};

// "17", "3.125": three decimals at most.
std::string value_text(double value);

}  // namespace sonde::monitor
