#include "analysis/collectives/collectives.h"
#include "analysis/critical_path/graph.h"

namespace sonde::analysis {

using trace::Row;

std::vector<Row> find_last_comers(const trace::Trace& trace) {
  std::vector<Row> last_comers;
  const Collectives all = find_collectives(std::span(&trace, 1));
  if (all.members.size() < 2) return last_comers;
  const Matched matched = match_collectives(all);
  for (const Instance& instance : matched.instances) {
    if (!instance.is_compared || instance.last == kNobody) continue;
    Row last = trace::kNone;
    for (const size_t part : instance.parts) {
      const Collective& one = all.list[part];
      if (one.member == instance.last && one.gpu != trace::kNone) last = one.row;
    }
    if (last == trace::kNone) continue;
    const int64_t arrived_ns = trace.ops.start_ns[static_cast<size_t>(last)];
    for (const size_t part : instance.parts) {
      const Collective& one = all.list[part];
      // Other clocks are told by times that contradict the order.
      const bool waits = one.gpu != trace::kNone && leaves_together(one) && one.row != last &&
                         one.start_ns < arrived_ns && arrived_ns < one.end_ns;
      if (!waits) continue;
      last_comers.resize(trace.ops.size(), trace::kNone);
      last_comers[static_cast<size_t>(one.row)] = last;
    }
  }
  return last_comers;
}

}  // namespace sonde::analysis
