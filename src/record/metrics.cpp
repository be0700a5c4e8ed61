#include "record/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "base/time.h"
#include "monitor/kept_file.h"
#include "monitor/probe.h"
#include "store/recording.h"

namespace sonde::record {

namespace {

constexpr int64_t kFlushEveryNs = 5'000'000'000;  // the most that a kill of the recorder may lose

}  // namespace

Metrics::Metrics(const monitor::Settings& settings, store::Writer& writer)
    : settings_(settings),
      writer_(writer),
      sampler_(settings,
               [this](const monitor::Reading& reading) {
                 const monitor::Metric& metric = monitor::metric(reading.id);
                 writer_.monitor({metric.device, metric.name, reading.value, reading.device,
                                  reading.start_ns, reading.end_ns});
               }),
      begun_ns_(monotonic_now_ns()),
      flushed_ns_(begun_ns_) {}

int64_t Metrics::wait_ns() const {
  return std::max<int64_t>(0, sampler_.due_ns() - monotonic_now_ns());
}

bool Metrics::sample(std::span<const int64_t> processes) {
  if (!has_other_sys_) find_other_sys(processes);
  const int64_t now = monotonic_now_ns();
  sampler_.tick(now, processes);
  const auto kept = keep_gpus();  // where it fails, so does the next commit
  if (now - flushed_ns_ < kFlushEveryNs) return kept && *kept;
  sampler_.flush();
  flushed_ns_ = now;
  return true;
}

// A program that sees another /sys, for example with simulated GPUs, says so in its environment.
void Metrics::find_other_sys(std::span<const int64_t> processes) {
  for (const int64_t pid : processes) {
    if (!seen_.insert(pid).second) continue;
    const auto environment = monitor::read_file(fmt::format("/proc/{}/environ", pid));
    if (!environment) continue;
    for (const auto entry : split(*environment, '\0')) {
      constexpr std::string_view kRoot = "SONDE_SYS_ROOT=";
      if (!entry.starts_with(kRoot) || entry.size() == kRoot.size()) continue;
      has_other_sys_ = true;
      return sampler_.use_gpu_roots(
          {settings_.roots.proc, std::string(entry.substr(kRoot.size()))});
    }
  }
}

void Metrics::last_look(int64_t pid) { sampler_.last_look(monotonic_now_ns(), pid); }

// Ops and metrics of a GPU must have the same number: the one given by the traced programs, which
// is found by the bus address. A recovery must find that, too. True if there was something to keep.
Result<bool> Metrics::keep_gpus() {
  std::map<int64_t, std::string> places;
  for (const auto& each : sampler_.names()) {
    if (each.device_type == "gpu") places[each.device] = each.name;
  }
  if (places == kept_places_) return false;
  SONDE_TRY(store::keep_metric_gpus(writer_.database(), {begun_ns_, places}));
  kept_places_ = std::move(places);
  return true;
}

void Metrics::store_names() {
  for (const auto& each : sampler_.names()) {
    if (each.device_type == "gpu") continue;  // sonde_device has those that were used
    writer_.metadata(fmt::format("sonde::{}::{}", each.device_type, each.device), each.name);
  }
}

Status Metrics::finish(store::Ingest& ingest) {
  sampler_.flush();
  SONDE_TRY(ingest.commit());  // so that SQL sees all rows
  SONDE_TRY(keep_gpus());
  SONDE_TRY(store::renumber_gpu_metrics(writer_.database()));
  kept_places_.clear();
  store_names();
  std::string text =
      fmt::format("{} Hz, {} ticks, {} missed, {} of CPU time", settings_.hz, sampler_.ticks(),
                  sampler_.missed(), format_duration(sampler_.cost_ns()));
  for (const auto& missing : sampler_.missing()) text += "; without " + missing.to_line();
  writer_.metadata("sonde::metrics", valid_utf8(text));
  for (const auto& missing : sampler_.missing()) {
    if (is_worth_saying(missing)) ingest.diagnostic("metrics", "not read: " + missing.to_line());
  }
  return ok_status();
}

// A metric that does not exist on this machine was not expected, either, unless it was requested:
// by name, by group, or as one of all.
bool Metrics::is_worth_saying(const monitor::Missing& missing) const {
  const auto words = split(settings_.list, ',');
  const bool asked = std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    const auto selection = monitor::parse_selection(trim(word));
    return trim(word) != "default" && selection &&
           monitor::selects_group(*selection, missing.group);
  });
  // Having one kind of GPU is enough.
  const bool other_gpus = missing.group == "gpu" &&
                          std::any_of(sampler_.names().begin(), sampler_.names().end(),
                                      [](const auto& each) { return each.device_type == "gpu"; });
  return missing.is_denied() || (asked && !other_gpus);
}

std::vector<std::string> Metrics::complaints() const {
  std::vector<std::string> lines;
  bool remedy = false;
  std::string text;
  for (const auto& missing : sampler_.missing()) {
    if (!is_worth_saying(missing)) continue;
    text += (text.empty() ? "" : "; ") + missing.to_line();
    remedy |= !monitor::how_to_allow(missing).empty();
  }
  if (text.empty()) return lines;
  lines.push_back("metrics not read: " + text +
                  (remedy ? " (sonde doctor says how to allow it)" : ""));
  return lines;
}

}  // namespace sonde::record
