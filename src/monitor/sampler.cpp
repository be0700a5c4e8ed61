#include "monitor/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/time.h"

namespace sonde::monitor {

bool Missing::is_denied() const { return error_number == EACCES || error_number == EPERM; }

std::string Missing::to_line() const { return fmt::format("{}: {}: {}", group, what, why); }

std::string value_text(double value) {
  constexpr double kExact = 9e15;
  if (std::abs(value) < kExact && value == std::floor(value)) {
    return std::to_string(static_cast<int64_t>(value));
  }
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

// Gives sources access to the sampler for one tick.
class Sampler::Tick : public Round {
 public:
  Tick(Sampler& sampler, int64_t now) : sampler_(sampler) { now_ns = now; }

  bool wants(Id id) const override {
    return sampler_.settings_.metrics.test(static_cast<size_t>(id));
  }
  void put(Id id, int64_t device, double value) override {
    if (wants(id)) sampler_.hold(id, device, value, now_ns, now_ns, true);
  }
  void put_over(Id id, int64_t device, double value, int64_t from_ns) override {
    if (wants(id)) sampler_.hold(id, device, value, from_ns, now_ns, false);
  }
  void name(const char* device_type, int64_t device, std::string_view text) override {
    sampler_.names_.push_back({device_type, device, std::string(text)});
  }
  void missing(const char* group, const std::string& what, int error_number) override {
    note({group, what, std::strerror(error_number), error_number});
  }
  void missing(const char* group, const std::string& what, const std::string& why) override {
    note({group, what, why, 0});
  }

 private:
  void note(Missing missing) {
    auto& known = sampler_.missing_;
    const auto same = [&](const Missing& each) {
      // Every process has such a file, and the reason is the same.
      return each.group == missing.group && each.why == missing.why &&
             (each.what == missing.what || missing.group == "process");
    };
    if (std::none_of(known.begin(), known.end(), same)) known.push_back(std::move(missing));
  }
  Sampler& sampler_;
};

Sampler::Sampler(const Settings& settings, Sink sink)
    : settings_(settings),
      sink_(std::move(sink)),
      period_ns_(1'000'000'000 / std::max<int64_t>(1, settings.hz)) {
  const Roots& roots = settings_.roots;
  const auto add = [&](auto& list, const char* group, std::unique_ptr<Source> source) {
    if (selects_group(settings_.metrics, group)) list.push_back(std::move(source));
  };
  const bool cores = selects_group(settings_.metrics, "cores");
  add(sources_, cores ? "cores" : "cpu", cpu_source(roots));
  add(sources_, "memory", memory_source(roots));
  add(sources_, "pressure", pressure_source(roots));
  add(sources_, "disk", disk_source(roots));
  add(sources_, "network", network_source(roots));
  add(sources_, "power", power_source(roots));
  add(gpus_, "gpu", amdgpu_source(roots));
  if (!settings_.nvml.empty()) add(gpus_, "gpu", nvml_source(settings_.nvml));
}

Sampler::~Sampler() = default;

void Sampler::use_gpu_roots(const Roots& roots) {
  if (gpus_.empty()) return;
  gpus_.clear();
  gpus_.push_back(amdgpu_source(roots));
  std::erase_if(missing_, [](const Missing& each) { return each.group == "gpu"; });
  std::erase_if(names_, [](const DeviceName& each) { return each.device_type == "gpu"; });
}

void Sampler::tick(int64_t now_ns, std::span<const int64_t> processes) {
  const int64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  if (due_ns_ == 0) due_ns_ = now_ns;
  const int64_t late = std::max<int64_t>(0, now_ns - due_ns_) / period_ns_;
  missed_ += static_cast<uint64_t>(late);
  due_ns_ += (late + 1) * period_ns_;
  ++ticks_;
  Tick round(*this, now_ns);
  for (const auto& source : sources_) source->read(round);
  for (const auto& source : gpus_) source->read(round);
  if (selects_group(settings_.metrics, "process")) {
    for (const int64_t pid : processes) {
      const auto [process, fresh] = processes_.try_emplace(pid, settings_.roots, pid);
      if (!process->second.read(round)) end_process(pid);
    }
    for (auto item = processes_.begin(); item != processes_.end();) {
      const int64_t pid = item++->first;
      if (std::find(processes.begin(), processes.end(), pid) == processes.end()) end_process(pid);
    }
  }
  cost_ns_ += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
}

void Sampler::last_look(int64_t now_ns, int64_t pid) {
  if (!selects_group(settings_.metrics, "process")) return;
  Tick round(*this, now_ns);
  processes_.try_emplace(pid, settings_.roots, pid).first->second.read(round);
  end_process(pid);
}

// Nothing of it is held for a later process of the same number.
void Sampler::end_process(int64_t pid) {
  processes_.erase(pid);
  for (auto item = series_.begin(); item != series_.end();) {
    const auto& [key, series] = *item;
    const bool own = key.second == pid && std::strcmp(metric(key.first).device, "process") == 0;
    if (own) tell(key, series);
    item = own ? series_.erase(item) : std::next(item);
  }
}

// `holds_on`: the value goes on until the next one of its series.
void Sampler::hold(Id id, int64_t device, double value, int64_t start_ns, int64_t end_ns,
                   bool holds_on) {
  if (!std::isfinite(value)) return;
  const Key key(id, device);
  const auto [found, fresh] = series_.try_emplace(key, Series{start_ns, end_ns, value});
  if (fresh) return;
  Series& series = found->second;
  if (holds_on) series.end_ns = start_ns;
  if (series.value == value && series.end_ns == start_ns) {
    series.end_ns = end_ns;
    return;
  }
  tell(key, series);
  series = Series{start_ns, end_ns, value};
}

void Sampler::tell(const Key& key, const Series& series) {
  if (series.told && series.end_ns == series.start_ns) return;  // and nothing since
  sink_({key.first, key.second, series.start_ns, series.end_ns, value_text(series.value)});
}

void Sampler::flush() {
  for (auto& [key, series] : series_) {
    tell(key, series);
    series.start_ns = series.end_ns;
    series.told = true;
  }
}

}  // namespace sonde::monitor
