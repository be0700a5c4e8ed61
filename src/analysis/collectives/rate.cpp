#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include "analysis/collectives/collectives.h"

namespace sonde::analysis {
namespace {

// Small messages are slow on any link, and what is fast between nodes is slow within one: the ranks
// of a group have the same links each time.
struct SizeClass {
  std::string group, communicator, op;
  int64_t ranks = 0;
  int bits = 0;  // of the size
  friend auto operator<=>(const SizeClass&, const SizeClass&) = default;
};

constexpr size_t kEnough = 4;  // to say what is usual

double quantile_of(std::vector<double>& values, size_t percent) {
  const size_t at = (values.size() - 1) * percent / 100;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace

int64_t ranks_of(const Collectives& all, const Instance& instance) {
  const int64_t told = all.list[instance.parts.front()].group_size;
  return told != 0 ? told : static_cast<int64_t>(instance.parts.size());
}

Rates bus_rates(const Collectives& all, const Matched& matched) {
  Rates rates;
  const size_t count = matched.instances.size();
  rates.bus.assign(count, 0);
  rates.usual.assign(count, 0);
  rates.peak.assign(count, 0);
  std::map<SizeClass, std::vector<size_t>> classes;
  for (size_t i = 0; i < count; ++i) {
    const Instance& instance = matched.instances[i];
    const Collective& first = all.list[instance.parts.front()];
    const int64_t ranks = ranks_of(all, instance);
    const auto factor = bus_factor(first.op, ranks);
    if (!factor || first.bytes <= 0 || instance.latency_ns <= 0) continue;
    rates.bus[i] =
        static_cast<double>(first.bytes) * *factor / static_cast<double>(instance.latency_ns);
    const int bits = std::bit_width(static_cast<uint64_t>(first.bytes));
    classes[{first.group, first.communicator, first.op, ranks, bits}].push_back(i);
  }
  for (const auto& [size_class, members] : classes) {
    if (members.size() < kEnough) continue;
    std::vector<double> values;
    for (const size_t i : members) values.push_back(rates.bus[i]);
    const double usual = quantile_of(values, 50), peak = quantile_of(values, 95);
    for (const size_t i : members) {
      rates.usual[i] = usual;
      rates.peak[i] = peak;
    }
  }
  return rates;
}

std::vector<bool> may_hide_waits(const Collectives& all, const Matched& matched) {
  std::vector<bool> hides;
  for (const Collective& one : all.list) hides.push_back(one.group_size != 1);
  for (const Instance& instance : matched.instances) {
    // Those who are there may all have waited for one that is not in the files.
    const bool is_whole = std::cmp_equal(ranks_of(all, instance), instance.parts.size());
    if (!instance.is_compared || !is_whole) continue;
    for (const size_t part : instance.parts) hides[part] = false;
  }
  return hides;
}

CommunicationTime communication_time(const Collectives& all, const Matched& matched) {
  const Rates rates = bus_rates(all, matched);
  const std::vector<bool> hides = may_hide_waits(all, matched);
  CommunicationTime time;
  std::vector<bool> is_matched(all.list.size(), false);
  for (size_t i = 0; i < matched.instances.size(); ++i) {
    const Instance& instance = matched.instances[i];
    for (size_t part = 0; part < instance.parts.size(); ++part) {
      const Collective& one = all.list[instance.parts[part]];
      is_matched[instance.parts[part]] = true;
      const int64_t waited_ns = std::min(instance.waited_ns[part], one.duration_ns());
      const int64_t moved_ns = one.duration_ns() - waited_ns;
      int64_t beyond_ns = 0;
      if (rates.is_slow(i)) {
        const double usual_ns =
            static_cast<double>(instance.latency_ns) * rates.bus[i] / rates.usual[i];
        beyond_ns = std::max<int64_t>(0, moved_ns - static_cast<int64_t>(usual_ns));
      }
      time.total_ns += one.duration_ns();
      time.waiting_ns += waited_ns;
      const bool is_known = !hides[instance.parts[part]];
      (is_known ? time.slow_ns : time.held_ns) += beyond_ns;
      (is_known ? time.transfer_ns : time.unknown_ns) += moved_ns - beyond_ns;
    }
  }
  for (size_t i = 0; i < all.list.size(); ++i) {
    if (is_matched[i]) continue;
    time.total_ns += all.list[i].duration_ns();
    (hides[i] ? time.unknown_ns : time.transfer_ns) += all.list[i].duration_ns();
  }
  return time;
}

const char* CommunicationTime::verdict() const {
  if (total_ns <= 0) return nullptr;
  struct Part {
    int64_t time_ns;
    const char* name;
  };
  const std::array<Part, 5> parts = {Part{waiting_ns, "waiting"}, Part{slow_ns, "slow link"},
                                     Part{held_ns, "waiting or a slow link"},
                                     Part{unknown_ns, "waiting or transfer"},
                                     Part{transfer_ns, "transfer"}};
  return std::max_element(parts.begin(), parts.end(),
                          [](const Part& a, const Part& b) { return a.time_ns < b.time_ns; })
      ->name;
}

}  // namespace sonde::analysis
