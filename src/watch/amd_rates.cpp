#include "watch/amd_rates.h"

#include <algorithm>

namespace sonde::watch {

namespace {

struct Named {
  const char* field;
  const char* reason;
};
constexpr Named kResidencies[] = {
    {"prochot_residency_acc", "processor hot"}, {"ppt_residency_acc", "power limit"},
    {"socket_thm_residency_acc", "socket hot"}, {"vr_thm_residency_acc", "voltage regulator hot"},
    {"hbm_thm_residency_acc", "memory hot"},
};

struct Bits {
  int first, last;
  const char* reason;
};
// Bits of indep_throttle_status, which are the same on every card.
constexpr Bits kIndependent[] = {
    {0, 7, "power limit"},     {16, 23, "current limit"},
    {32, 33, "hot"},           {34, 34, "memory hot"},
    {35, 37, "hot"},           {38, 41, "voltage regulator hot"},
    {42, 43, "liquid hot"},    {44, 45, "voltage regulator hot"},
    {46, 47, "processor hot"}, {56, 57, "firmware limit"},
};

// The sum over the links. An inactive link, which reads as all ones on some cards, does not count.
std::optional<uint64_t> links(const monitor::GpuMetricsTable& table, const char* field) {
  if (!table.largest(field)) return std::nullopt;
  return table.sum(field);
}

Real rate_bytes_s(std::optional<uint64_t> before_kb, std::optional<uint64_t> now_kb,
                  int64_t span_ns) {
  if (!before_kb || !now_kb || *now_kb < *before_kb || span_ns <= 0) return std::nullopt;
  return 1024e9 * static_cast<double>(*now_kb - *before_kb) / static_cast<double>(span_ns);
}

void put_bits(const monitor::GpuMetricsTable& table, Gpu& gpu) {
  const auto add = [&](const char* reason) {
    const auto same = [&](const Throttle& each) { return each.reason == reason; };
    if (std::none_of(gpu.throttles.begin(), gpu.throttles.end(), same)) {
      gpu.throttles.push_back({reason, std::nullopt});
    }
  };
  const auto known = table.number("indep_throttle_status");
  for (const Bits& each : kIndependent) {
    for (int bit = each.first; known && bit <= each.last; ++bit) {
      if ((*known >> bit & 1) != 0) add(each.reason);
    }
  }
  // The other bits differ from card to card.
  const auto own = table.number("throttle_status");
  if (!known && own && *own != 0) add("reason of the card's own");
}

}  // namespace

void AmdRates::put_residencies(const Counters& now, Gpu& gpu) const {
  if (!now.ticks || !last_.ticks || *now.ticks <= *last_.ticks) return;
  const auto span = static_cast<double>(*now.ticks - *last_.ticks);
  for (const auto& [reason, count] : now.residencies) {
    const auto before = last_.residencies.find(reason);
    if (before == last_.residencies.end() || count <= before->second) continue;
    const double percent = 100 * static_cast<double>(count - before->second) / span;
    gpu.throttles.push_back({reason, std::min(100.0, percent)});
  }
}

void AmdRates::take(const monitor::GpuMetricsTable& table, int64_t now_ns, Gpu& gpu) {
  Counters now;
  now.time_ns = now_ns;
  now.ticks = table.number("accumulation_counter");
  for (const Named& each : kResidencies) {
    if (const auto count = table.number(each.field)) now.residencies[each.reason] = *count;
  }
  now.read_kb = links(table, "xgmi_read_data_acc");
  now.written_kb = links(table, "xgmi_write_data_acc");
  const auto whole = [](const std::optional<uint64_t>& count) {
    return count ? Whole(static_cast<int64_t>(*count)) : std::nullopt;
  };
  gpu.xgmi_read_kb = whole(now.read_kb);
  gpu.xgmi_written_kb = whole(now.written_kb);
  if (last_.time_ns != 0) {
    put_residencies(now, gpu);
    const int64_t span_ns = now_ns - last_.time_ns;
    gpu.xgmi_read_bytes_s = rate_bytes_s(last_.read_kb, now.read_kb, span_ns);
    gpu.xgmi_written_bytes_s = rate_bytes_s(last_.written_kb, now.written_kb, span_ns);
  }
  put_bits(table, gpu);
  last_ = std::move(now);
}

}  // namespace sonde::watch
