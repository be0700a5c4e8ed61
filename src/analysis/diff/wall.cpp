#include <algorithm>
#include <queue>
#include <tuple>

#include "analysis/collectives/collectives.h"
#include "analysis/diff/diff.h"
#include "trace/host_work.h"

namespace sonde::analysis {
namespace {

using trace::ApiKind;
using trace::Interval;
using trace::IntervalSet;
using trace::NameId;
using trace::Row;

struct Piece {
  Interval time;
  NameId name = 0;
};

bool is_call(ApiKind kind) {
  return kind == ApiKind::kOperator || kind == ApiKind::kRuntime || kind == ApiKind::kPython;
}

// Calls, and ranges that say what the program does in them, such as a data loader's. Other ranges
// are around all that a program does, and would explain everything.
bool is_work(const trace::Trace& trace, size_t api) {
  const ApiKind kind = trace.apis.kind[api];
  if (is_call(kind) || kind != ApiKind::kMarker) return is_call(kind);
  return trace::has_a_purpose(trace::host_work_of(kind, trace.names[trace.apis.label[api]]));
}

// The time of a thread by the innermost call, in order.
class ThreadTime {
 public:
  void begin(const trace::Apis& apis, size_t api) {
    end_until(apis, apis.start_ns[api]);
    cut(apis, apis.start_ns[api]);
    open_.push_back(static_cast<Row>(api));
    ++calls_;
  }
  void launch() { launches_ = true; }
  void end_until(const trace::Apis& apis, int64_t time_ns) {
    while (!open_.empty()) {
      const int64_t end_ns = apis.end_ns[static_cast<size_t>(open_.back())];
      if (end_ns > time_ns) return;
      cut(apis, end_ns);
      open_.pop_back();
    }
  }
  // A thread that waits in one call all the time does not show why GPUs are idle.
  bool tells_more_than(const ThreadTime& other) const {
    return std::tuple(launches_, calls_, length_ns_) >
           std::tuple(other.launches_, other.calls_, other.length_ns_);
  }
  const std::vector<Piece>& pieces() const { return pieces_; }
  // To a clock that is behind by so much.
  void move(int64_t ahead_ns) {
    for (Piece& piece : pieces_) {
      piece.time.start_ns -= ahead_ns;
      piece.time.end_ns -= ahead_ns;
    }
  }

 private:
  void cut(const trace::Apis& apis, int64_t time_ns) {
    if (!open_.empty() && time_ns > since_ns_) {
      pieces_.push_back({{since_ns_, time_ns}, apis.label[static_cast<size_t>(open_.back())]});
      length_ns_ += time_ns - since_ns_;
    }
    since_ns_ = pieces_.empty() ? time_ns : std::max(time_ns, since_ns_);
  }

  std::vector<Row> open_;
  std::vector<Piece> pieces_;
  int64_t since_ns_ = 0, length_ns_ = 0, calls_ = 0;
  bool launches_ = false;
};

// The times of a trace with the clocks of its processes put right.
class Times {
 public:
  explicit Times(const trace::Trace& trace) : trace_(trace), offsets_(clock_offsets(trace)) {
    moved_ = std::any_of(offsets_.begin(), offsets_.end(), [](int64_t ns) { return ns != 0; });
  }
  int64_t of_thread(uint32_t thread) const {
    const int32_t process = trace_.threads[thread].process;
    return process == trace::kNone ? 0 : offsets_[static_cast<size_t>(process)];
  }
  Interval op(size_t row) const {
    const int32_t process = trace_.ops.process[row];
    const int64_t offset_ns = process == trace::kNone ? 0 : offsets_[static_cast<size_t>(process)];
    return {trace_.ops.start_ns[row] - offset_ns, trace_.ops.end_ns[row] - offset_ns};
  }
  Interval api(size_t row) const {
    const int64_t offset_ns = of_thread(trace_.apis.thread[row]);
    return {trace_.apis.start_ns[row] - offset_ns, trace_.apis.end_ns[row] - offset_ns};
  }
  // Rows of operations by their start.
  std::vector<size_t> ops() const {
    std::vector<size_t> order(trace_.ops.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (moved_) {
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return op(a).start_ns < op(b).start_ns; });
    }
    return order;
  }

 private:
  const trace::Trace& trace_;
  std::vector<int64_t> offsets_;  // by process
  bool moved_ = false;
};

std::vector<ThreadTime> thread_times(const trace::Trace& trace, const Times& times) {
  std::vector<ThreadTime> threads(trace.threads.size());
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (is_work(trace, i)) threads[trace.apis.thread[i]].begin(trace.apis, i);
  }
  for (ThreadTime& thread : threads) {
    thread.end_until(trace.apis, std::numeric_limits<int64_t>::max());
  }
  for (size_t i = 0; i < threads.size(); ++i)
    threads[i].move(times.of_thread(static_cast<uint32_t>(i)));
  for (const Row api : trace.ops.api) {
    if (api != trace::kNone) threads[trace.apis.thread[static_cast<size_t>(api)]].launch();
  }
  std::stable_sort(threads.begin(), threads.end(),
                   [](const ThreadTime& a, const ThreadTime& b) { return a.tells_more_than(b); });
  return threads;
}

Interval extent_of(const trace::Trace& trace, const Times& times) {
  if (trace.window) return *trace.window;
  std::optional<Interval> extent;
  for (size_t i = 0; i < trace.ops.size(); ++i) extend(extent, times.op(i));
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    const ApiKind kind = trace.apis.kind[i];
    if (is_call(kind) || kind == ApiKind::kMarker) extend(extent, times.api(i));
  }
  return extent.value_or(Interval{});
}

// A piece of a thread, and how many threads come before it where several explain the same time.
struct Claim {
  Piece piece;
  size_t rank = 0;
};

std::vector<Claim> claims_of(const std::vector<ThreadTime>& threads) {
  std::vector<Claim> claims;
  for (size_t rank = 0; rank < threads.size(); ++rank) {
    for (const Piece& piece : threads[rank].pieces()) claims.push_back({piece, rank});
  }
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    return std::tuple(a.piece.time.start_ns, a.rank) < std::tuple(b.piece.time.start_ns, b.rank);
  });
  return claims;
}

// Gives each part of the gaps to the open claim with the lowest rank, by name; returns what is
// unclaimed. One pass over gaps and claims, both in order of their start.
int64_t explain(const IntervalSet& gaps, const std::vector<Claim>& claims,
                std::vector<int64_t>& by_name) {
  const auto comes_later = [](const Claim* a, const Claim* b) { return a->rank > b->rank; };
  std::priority_queue<const Claim*, std::vector<const Claim*>, decltype(comes_later)> open(
      comes_later);
  int64_t unclaimed_ns = 0;
  size_t next = 0;
  for (const Interval& gap : gaps) {
    for (int64_t at_ns = gap.start_ns; at_ns < gap.end_ns;) {
      for (; next < claims.size() && claims[next].piece.time.start_ns <= at_ns; ++next) {
        open.push(&claims[next]);
      }
      while (!open.empty() && open.top()->piece.time.end_ns <= at_ns) open.pop();
      int64_t until_ns = gap.end_ns;
      if (next < claims.size()) until_ns = std::min(until_ns, claims[next].piece.time.start_ns);
      if (!open.empty()) until_ns = std::min(until_ns, open.top()->piece.time.end_ns);
      (open.empty() ? unclaimed_ns : by_name[open.top()->piece.name]) += until_ns - at_ns;
      at_ns = until_ns;
    }
  }
  return unclaimed_ns;
}

// The time in which operations of some kind ran and nothing of `before` did: by name, where several
// ran to the one that began first. Returns all of it.
template <typename Wanted>
IntervalSet add_busy(const trace::Trace& trace, const Times& times, Interval extent,
                     const IntervalSet& before, Wanted wanted, std::vector<int64_t>& by_name) {
  IntervalSet covered;
  int64_t until_ns = extent.start_ns;
  size_t next = 0;
  for (const size_t i : times.ops()) {
    if (!wanted(i)) continue;
    const Interval op = {std::max(times.op(i).start_ns, until_ns),
                         std::min(times.op(i).end_ns, extent.end_ns)};
    if (op.end_ns <= op.start_ns) continue;
    covered.push_back(op);
    until_ns = op.end_ns;
    while (next < before.size() && before[next].end_ns <= op.start_ns) ++next;
    int64_t length_ns = op.end_ns - op.start_ns;
    for (size_t at = next; at < before.size() && before[at].start_ns < op.end_ns; ++at) {
      length_ns -=
          std::min(before[at].end_ns, op.end_ns) - std::max(before[at].start_ns, op.start_ns);
    }
    by_name[trace.label(i)] += length_ns;
  }
  trace::normalise(covered);
  return covered;
}

}  // namespace

WallParts wall_parts(const trace::Trace& trace) {
  WallParts parts;
  const Times times(trace);
  const Interval extent = extent_of(trace, times);
  parts.wall_ns = extent.end_ns - extent.start_ns;
  std::vector<int64_t> busy(trace.names.size(), 0), idle(trace.names.size(), 0);
  // A collective waits for the rank that is late, whose work began after it.
  const auto communicates = [&](size_t op) {
    return trace.ops.category[op] == trace::Category::kCommunication;
  };
  const IntervalSet works = add_busy(
      trace, times, extent, {}, [&](size_t op) { return !communicates(op); }, busy);
  const IntervalSet talks = add_busy(trace, times, extent, works, communicates, busy);
  const IntervalSet covered = trace::unite(works, talks);
  parts.nothing_ns =
      explain(trace::gaps(covered, extent), claims_of(thread_times(trace, times)), idle);
  for (size_t i = 0; i < trace.names.size(); ++i) {
    if (busy[i] != 0) parts.busy_ns[trace.names[i]] += busy[i];
    if (idle[i] != 0) parts.idle_ns[trace.names[i]] += idle[i];
  }
  return parts;
}

}  // namespace sonde::analysis
