// PerfettoClocks: brings the times of a .pftrace's packets to one clock, by the snapshots in the
// file. Used by the Perfetto importer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde::importers {

constexpr uint64_t kPerfettoRealtime = 1, kPerfettoMonotonic = 3, kPerfettoBoottime = 6;

class PerfettoClocks {
 public:
  // A clock of its own number in each sequence, or of the machine (sequence 0).
  struct Id {
    uint32_t sequence = 0;
    uint64_t clock = 0;
    auto operator<=>(const Id&) const = default;
  };
  static Id id(uint32_t sequence, uint64_t clock) {
    return {clock >= 64 && clock < 128 ? sequence : 0, clock};
  }

  // A ClockSnapshot of `sequence`.
  void snapshot(uint32_t sequence, std::string_view message);
  // nullopt: nothing relates this clock to that of the trace.
  std::optional<int64_t> time(uint32_t sequence, uint64_t clock, uint64_t value);

  // The clock that all times come out in; 0 before the first time or snapshot.
  uint64_t trace_clock() const { return trace_clock_; }
  // What another clock showed at a moment of the trace's: {its value, the time}.
  std::optional<std::pair<int64_t, int64_t>> reading(uint64_t clock) const;
  static std::string name(uint64_t clock);

 private:
  using Snapshot = std::map<Id, int64_t>;  // ns
  struct Scale {
    bool incremental = false;
    int64_t unit_ns = 1;
    int64_t now_ns = 0;
  };
  std::optional<int64_t> offset(Id from, int64_t at_ns, int depth);

  std::vector<Snapshot> snapshots_;
  std::map<Id, Scale> scales_;
  std::map<Id, int64_t> offsets_;  // to the trace's clock, as of the last snapshot
  uint64_t trace_clock_ = 0;
};

}  // namespace sonde::importers
