#include "analysis/time/work_launchers.h"

#include <map>

namespace sonde::analysis {

using trace::kNone;
using trace::Row;

WorkLaunchers::WorkLaunchers(const trace::Trace& trace)
    : trace_(trace), launches_work_(trace.threads.size(), false), next_(trace.ops.size(), kNone) {
  std::map<int64_t, Row> next;  // by GPU
  for (size_t op = trace.ops.size(); op-- > 0;) {
    Row& of_gpu = next.try_emplace(trace.ops.gpu[op], kNone).first->second;
    next_[op] = of_gpu;
    if (!is_work(op)) continue;
    of_gpu = static_cast<Row>(op);
    const Row thread = thread_of(of_gpu);
    if (thread != kNone) launches_work_[static_cast<size_t>(thread)] = true;
  }
}

Row WorkLaunchers::awaited(Row op) const {
  const Row thread = thread_of(op);
  if (thread == kNone || launches_work_[static_cast<size_t>(thread)]) return op;
  const Row next = next_[static_cast<size_t>(op)];
  const Row other = thread_of(next);
  const bool is_known = other != kNone && trace_.threads[static_cast<size_t>(other)].process ==
                                              trace_.threads[static_cast<size_t>(thread)].process;
  return is_known ? next : op;
}

Row WorkLaunchers::thread_of(Row op) const {
  if (op == kNone || trace_.ops.api.empty()) return kNone;
  const Row api = trace_.ops.api[static_cast<size_t>(op)];
  return api == kNone ? kNone : static_cast<Row>(trace_.apis.thread[static_cast<size_t>(api)]);
}

bool WorkLaunchers::is_work(size_t op) const {
  const trace::Category category = trace_.ops.category[op];
  return category != trace::Category::kCopy && category != trace::Category::kMemset;
}

}  // namespace sonde::analysis
