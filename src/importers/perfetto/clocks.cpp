#include "importers/perfetto/clocks.h"

#include "importers/input/proto_reader.h"

namespace sonde::importers {

namespace {
constexpr size_t kMaxSnapshots = 100'000;
constexpr int kMaxSteps = 4;  // from clock to clock

int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapping_subtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrapping_multiply(uint64_t a, int64_t b) {
  return static_cast<int64_t>(a * static_cast<uint64_t>(b));
}
}  // namespace

void PerfettoClocks::snapshot(uint32_t sequence, std::string_view message) {
  Snapshot made;
  ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() == 2 && trace_clock_ == 0) trace_clock_ = reader.number();
    if (reader.field() != 1) continue;
    uint64_t clock = 0, value = 0;
    int64_t unit_ns = 0;
    Scale scale;
    read_fields(reader.bytes(), ProtoField{1, clock}, ProtoField{2, value},
                ProtoField{3, scale.incremental}, ProtoField{4, unit_ns});
    if (unit_ns != 0) scale.unit_ns = unit_ns;
    const Id key = id(sequence, clock);
    made[key] = scale.now_ns = wrapping_multiply(value, scale.unit_ns);
    scales_[key] = scale;
  }
  if (trace_clock_ == 0) trace_clock_ = kPerfettoBoottime;
  if (snapshots_.size() < kMaxSnapshots) snapshots_.push_back(std::move(made));
  offsets_.clear();
}

// How much has to be added to a time of `from`.
std::optional<int64_t> PerfettoClocks::offset(Id from, int64_t at_ns, int depth) {
  const Id wanted{0, trace_clock_};
  if (from == wanted) return 0;
  if (depth > kMaxSteps) return std::nullopt;
  for (size_t i = snapshots_.size(); i-- > 0;) {
    const Snapshot& snapshot = snapshots_[i];
    const auto own = snapshot.find(from);
    if (own == snapshot.end()) continue;
    if (const auto other = snapshot.find(wanted); other != snapshot.end()) {
      return wrapping_subtract(other->second, own->second);
    }
    for (const auto& [next, ns] : snapshot) {
      if (next == from) continue;
      const int64_t step = wrapping_subtract(ns, own->second);
      if (const auto rest = offset(next, wrapping_add(at_ns, step), depth + 1)) {
        return wrapping_add(step, *rest);
      }
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<int64_t> PerfettoClocks::time(uint32_t sequence, uint64_t clock, uint64_t value) {
  const Id key = id(sequence, clock);
  int64_t time_ns = static_cast<int64_t>(value);
  if (const auto scale = scales_.find(key); scale != scales_.end()) {
    time_ns = wrapping_multiply(value, scale->second.unit_ns);
    if (scale->second.incremental) {
      time_ns = scale->second.now_ns = wrapping_add(scale->second.now_ns, time_ns);
    }
  }
  if (trace_clock_ == 0) trace_clock_ = clock;  // a file without snapshots has one clock
  if (clock == trace_clock_) return time_ns;
  if (const auto known = offsets_.find(key); known != offsets_.end()) {
    return wrapping_add(time_ns, known->second);
  }
  const auto found = offset(key, time_ns, 0);
  if (!found) return std::nullopt;
  offsets_[key] = *found;
  return wrapping_add(time_ns, *found);
}

std::optional<std::pair<int64_t, int64_t>> PerfettoClocks::reading(uint64_t clock) const {
  for (const Snapshot& snapshot : snapshots_) {
    const auto own = snapshot.find({0, trace_clock_});
    const auto other = snapshot.find({0, clock});
    if (own != snapshot.end() && other != snapshot.end()) {
      return std::pair(other->second, own->second);
    }
  }
  return std::nullopt;
}

std::string PerfettoClocks::name(uint64_t clock) {
  switch (clock) {
    case kPerfettoRealtime:
    case 2:  // REALTIME_COARSE
      return "realtime";
    case kPerfettoMonotonic:
    case 4:  // MONOTONIC_COARSE
      return "monotonic";
    case 5:
      return "monotonic_raw";
    case kPerfettoBoottime:
      return "boottime";
    default:
      return "";
  }
}

}  // namespace sonde::importers
