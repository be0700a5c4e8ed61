// OpTree: which call lies in which, on each thread, and which one a GPU operation belongs to:
// Python frame -> operator -> runtime call -> kernel. Every operation belongs to exactly one leaf,
// or to none if no call of it was recorded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "trace/trace.h"

namespace sonde::trace {

struct OpTree {
  std::vector<Row> parent;  // by row of Trace::apis: the innermost call it lies in, or kNone
  std::vector<Row> leaf;    // by row of Trace::ops: leaf_of() the launching call, or kNone

  // The call itself or the nearest around it for which wanted(row) holds; kNone if there is none.
  template <typename Wanted>
  Row nearest(Row api, Wanted wanted) const {
    while (api != kNone && !wanted(static_cast<size_t>(api))) {
      api = parent[static_cast<size_t>(api)];
    }
    return api;
  }
};

// A call lies in another if both are on one thread and its whole time is in the other's; of two
// with the same times the one that Trace::apis lists first is the outer one. Device markers and
// syncs lie in nothing and nothing lies in them.
//
// The leaf of an operation is the innermost operator around the call that launched it; where there
// is none, the innermost marker or Python frame; else the launching call itself. An operation
// without a launching call has none.
//
// Needs `nesting`, and `links` for leaf. n log n.
OpTree build_op_tree(const Trace& trace);

// In which call each thread was, of those that `wanted` takes: of all that were open the one that
// began last. So each moment of a thread belongs to one call at most, also where calls overlap
// without nesting, and what a call has for itself is never negative. visit(row, time) is called by
// thread in the order of time; times of one row may touch. Needs `nesting`. Linear.
template <typename Wanted, typename Visit>
void visit_innermost(const Trace& trace, Wanted wanted, Visit visit) {
  struct Calls {
    std::vector<Row> open;
    int64_t now_ns = std::numeric_limits<int64_t>::min();
  };
  const Apis& apis = trace.apis;
  std::vector<Calls> threads(trace.threads.size());
  const auto advance = [&](Calls& thread, int64_t until_ns) {
    while (!thread.open.empty() && thread.now_ns < until_ns) {
      const Row row = thread.open.back();
      const int64_t end_ns = apis.end_ns[static_cast<size_t>(row)];
      const int64_t stop_ns = std::min(end_ns, until_ns);
      if (stop_ns > thread.now_ns) visit(row, Interval{thread.now_ns, stop_ns});
      thread.now_ns = std::max(thread.now_ns, stop_ns);
      if (end_ns <= until_ns) thread.open.pop_back();
    }
    thread.now_ns = until_ns;
  };
  for (size_t i = 0; i < apis.size(); ++i) {
    if (!is_on_a_thread(apis.kind[i]) || apis.end_ns[i] <= apis.start_ns[i] || !wanted(i)) continue;
    Calls& thread = threads[apis.thread[i]];
    advance(thread, apis.start_ns[i]);
    thread.open.push_back(static_cast<Row>(i));
  }
  for (Calls& thread : threads) advance(thread, std::numeric_limits<int64_t>::max());
}

// The time of each wanted call without the wanted calls in it: what visit_innermost() gives it.
template <typename Wanted>
std::vector<int64_t> self_times(const Trace& trace, Wanted wanted) {
  std::vector<int64_t> self_ns(trace.apis.size(), 0);
  visit_innermost(trace, wanted, [&](Row row, Interval time) {
    self_ns[static_cast<size_t>(row)] += time.end_ns - time.start_ns;
  });
  return self_ns;
}

}  // namespace sonde::trace
