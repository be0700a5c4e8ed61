#include "watch/watcher.h"

#include <fmt/format.h>
#include <time.h>

#include <cstring>

#include "base/time.h"
#include "monitor/kept_file.h"
#include "watch/judge.h"

namespace sonde::watch {

using monitor::Id;

// Receives the values of metric sources.
class Watcher::Values : public monitor::Round {
 public:
  explicit Values(int64_t now) { now_ns = now; }

  bool wants(Id) const override { return true; }
  void put(Id id, int64_t device, double value) override { values_[id][device] = value; }
  void put_over(Id id, int64_t device, double value, int64_t) override { put(id, device, value); }
  void name(const char*, int64_t, std::string_view) override {}
  void missing(const char* group, const std::string& what, int error) override {
    missing(group, what, std::string(std::strerror(error)));
  }
  void missing(const char* group, const std::string& what, const std::string& why) override {
    lacking.push_back(fmt::format("{}: {}: {}", group, what, why));
  }

  Real value(Id id, int64_t device = 0) const {
    const auto found = values_.find(id);
    if (found == values_.end()) return std::nullopt;
    const auto of = found->second.find(device);
    return of == found->second.end() ? Real() : Real(of->second);
  }
  Real sum(Id id) const {
    const auto found = values_.find(id);
    if (found == values_.end()) return std::nullopt;
    double sum = 0;
    for (const auto& [device, value] : found->second) sum += value;
    return sum;
  }
  size_t devices(Id id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? 0 : found->second.size();
  }

  std::vector<std::string> lacking;

 private:
  std::map<Id, std::map<int64_t, double>> values_;
};

Watcher::Watcher(const WatchOptions& options)
    : options_(options), amd_(options.roots), processes_(options.roots) {
  host_.push_back(monitor::cpu_source(options.roots));
  host_.push_back(monitor::memory_source(options.roots));
  host_.push_back(monitor::pressure_source(options.roots));
  host_.push_back(monitor::disk_source(options.roots));
  host_.push_back(monitor::network_source(options.roots));
  if (!options.nvml.empty()) nvidia_ = std::make_unique<NvidiaGpus>(options.nvml);
}

Watcher::~Watcher() = default;

Snapshot Watcher::look() {
  Snapshot snapshot;
  snapshot.time_ns = monotonic_now_ns();
  snapshot.unix_time_ns = clock_ns(CLOCK_REALTIME);
  amd_.look(snapshot, options_.whole_table);
  std::vector<ProcessUse> uses;
  if (nvidia_ != nullptr) uses = nvidia_->look(snapshot);
  // Not worth a message if another vendor's GPUs are there.
  if (amd_.cards().empty() && !snapshot.gpus.empty()) {
    std::erase_if(snapshot.missing,
                  [](const std::string& line) { return line.starts_with("AMD GPUs: "); });
  }
  processes_.look(snapshot, amd_.cards(), uses);
  look_at_host(snapshot);
  judge(snapshot);
  return snapshot;
}

void Watcher::look_at_host(Snapshot& snapshot) {
  Values values(snapshot.time_ns);
  for (const auto& source : host_) source->read(values);
  Host& host = snapshot.host;
  host.cpu_percent = values.value(Id::kCpuPercent);
  if (const size_t cores = values.devices(Id::kCorePercent); cores != 0) {
    host.cores = static_cast<int64_t>(cores);
  }
  host.memory_used_bytes = values.value(Id::kMemoryUsed);
  host.memory_available_bytes = values.value(Id::kMemoryAvailable);
  host.swap_used_bytes = values.value(Id::kSwapUsed);
  host.cpu_pressure = values.value(Id::kPressureCpu);
  host.io_pressure = values.value(Id::kPressureIo);
  host.memory_pressure = values.value(Id::kPressureMemory);
  host.disk_read_bytes_s = values.sum(Id::kDiskRead);
  host.disk_written_bytes_s = values.sum(Id::kDiskWritten);
  host.received_bytes_s = values.sum(Id::kReceived);
  host.sent_bytes_s = values.sum(Id::kSent);
  if (const auto load = monitor::read_file(options_.roots.proc + "/loadavg")) {
    host.load1 = std::strtod(load->c_str(), nullptr);
  }
  for (const std::string& line : values.lacking) snapshot.missing.push_back(line);
}

}  // namespace sonde::watch
