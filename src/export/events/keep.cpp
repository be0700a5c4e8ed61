#include "export/events/keep.h"

#include <set>
#include <vector>

#include "export/events/links.h"

namespace sonde::exporting {

namespace {

std::set<int64_t> pids_of_rank(const Events& events, int64_t rank) {
  std::set<int64_t> pids;
  for (const Process& process : events.processes) {
    if (process.rank == rank) pids.insert(process.pid);
  }
  return pids;
}

// Keeps the rows that `wanted(row)` says, and returns the new index of each old row (or kNone).
template <typename Rows, typename Wanted>
std::vector<uint32_t> keep_rows(Rows& rows, size_t count, Wanted&& wanted) {
  std::vector<uint32_t> moved(count, kNone);
  uint32_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!wanted(rows[i])) continue;
    rows[kept] = rows[i];
    moved[i] = kept++;
  }
  rows.resize(kept);
  return moved;
}

}  // namespace

void keep_wanted(Events& events, const Options& options) {
  if (!options.gpu && !options.rank) return;
  const std::set<int64_t> pids =
      options.rank ? pids_of_rank(events, *options.rank) : std::set<int64_t>();
  const auto of_rank = [&](int64_t pid) { return !options.rank || pids.count(pid) > 0; };

  const auto is_wanted = [&](const Op& op) {
    const Queue& queue = events.queues[op.queue];
    return (!options.gpu || queue.gpu_id == *options.gpu) && of_rank(queue.pid);
  };
  size_t at = 0;
  keep_rows(events.op_extras, events.op_extras.size(),
            [&](const OpExtra&) { return is_wanted(events.ops[at++]); });
  const auto ops = keep_rows(events.ops, events.ops.size(), is_wanted);
  keep_rows(events.op_counters, events.op_counters.size(), [&](OpCounter& counter) {
    counter.op = ops[counter.op];
    return counter.op != kNone;
  });
  const auto apis = keep_rows(events.apis, events.api_count(), [&](const Api& api) {
    return of_rank(events.threads[api.thread].pid);
  });
  keep_rows(events.samples, events.samples.size(), [&](const Sample& sample) {
    const Series& series = events.series[sample.series];
    return series.of_machine() || of_rank(series.pid);
  });

  keep_rows(events.processes, events.processes.size(),
            [&](const Process& process) { return of_rank(process.pid); });
  keep_rows(events.devices, events.devices.size(),
            [&](const Device& device) { return !options.gpu || device.gpu_id == *options.gpu; });

  keep_rows(events.links, events.links.size(), [&](Link& link) {
    link = {apis[link.api], ops[link.op]};
    return link.api != kNone && link.op != kNone;
  });
  for (Op& op : events.ops) op.first_link = kNone;
  index_links(events);
}

}  // namespace sonde::exporting
