#include "trace/keep_ops.h"

#include "base/check.h"

namespace sonde::trace {
namespace {

template <typename Column>
void keep(Column& column, const std::vector<bool>& kept) {
  if (column.empty()) return;  // was not asked for
  size_t count = 0;
  for (size_t row = 0; row < kept.size(); ++row) {
    if (kept[row]) column[count++] = column[row];
  }
  column.resize(count);
}

}  // namespace

void move_counters(OpCounters& counters, const std::vector<Row>& new_row) {
  size_t count = 0;
  for (size_t i = 0; i < counters.size(); ++i) {
    const Row row = new_row[static_cast<size_t>(counters.op[i])];
    if (row == kNone) continue;
    counters.op[count] = row;
    counters.name[count] = counters.name[i];
    counters.value[count++] = counters.value[i];
  }
  counters.op.resize(count);
  counters.name.resize(count);
  counters.value.resize(count);
}

void keep_ops(Trace& trace, const std::vector<bool>& kept) {
  SONDE_CHECK(kept.size() == trace.ops.size());
  std::vector<Row> new_row(kept.size(), kNone);
  Row next = 0;
  for (size_t row = 0; row < kept.size(); ++row) {
    if (kept[row]) new_row[row] = next++;
  }
  move_counters(trace.op_counters, new_row);
  Ops& ops = trace.ops;
  const auto keep_all = [&](auto&... columns) { (keep(columns, kept), ...); };
  keep_all(ops.start_ns, ops.end_ns, ops.gpu, ops.queue, ops.name, ops.type, ops.category, ops.id,
           ops.bytes, ops.shape, ops.api, ops.process);
}

}  // namespace sonde::trace
