#include "trace/keep_ops.h"

#include "base/check.h"

namespace sonde::trace {
namespace {

template <typename Value>
void keep(std::vector<Value>& column, const std::vector<bool>& kept) {
  if (column.empty()) return;  // was not asked for
  size_t count = 0;
  for (size_t row = 0; row < kept.size(); ++row) {
    if (kept[row]) column[count++] = column[row];
  }
  column.resize(count);
}

}  // namespace

void keep_ops(Trace& trace, const std::vector<bool>& kept) {
  SONDE_CHECK(kept.size() == trace.ops.size() && trace.op_counters.size() == 0);
  Ops& ops = trace.ops;
  keep(ops.end_ns, kept);
  keep(ops.gpu, kept);
  keep(ops.queue, kept);
  keep(ops.name, kept);
  keep(ops.type, kept);
  keep(ops.category, kept);
  keep(ops.id, kept);
  keep(ops.bytes, kept);
  keep(ops.shape, kept);
  keep(ops.api, kept);
  keep(ops.process, kept);
  keep(ops.start_ns, kept);
}

}  // namespace sonde::trace
