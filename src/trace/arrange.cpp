#include "trace/arrange.h"

#include <algorithm>
#include <future>
#include <set>

#include "base/check.h"
#include "base/strings.h"
#include "trace/keep_ops.h"

namespace sonde::trace {
namespace {

using Order = std::vector<uint32_t>;  // old row by new row

// Calls visit() for each column; one that was not asked for is empty.
template <typename Visit>
void each_column(Ops& ops, Visit visit) {
  const auto all = [&](auto&... columns) { (visit(columns), ...); };
  all(ops.start_ns, ops.end_ns, ops.gpu, ops.queue, ops.name, ops.type, ops.category, ops.id,
      ops.bytes, ops.shape, ops.api, ops.process);
}

template <typename Visit>
void each_column(Apis& apis, Visit visit) {
  const auto all = [&](auto&... columns) { (visit(columns), ...); };
  all(apis.start_ns, apis.end_ns, apis.name, apis.domain, apis.kind, apis.thread, apis.label,
      apis.args, apis.stream, apis.blocks, apis.between_gpus, apis.stack);
}

template <typename Table>
void take_rows(Table& table, const Order& order) {
  each_column(table, [&](auto& column) {
    if (column.empty()) return;
    std::remove_reference_t<decltype(column)> taken;
    taken.reserve(order.size());
    for (const uint32_t row : order) taken.push_back(column[row]);
    column = std::move(taken);
  });
}

// Clips [start, end) to the window. False if it lies outside: an interval must share time with the
// window, a zero-length one must lie in it.
bool clip_to(Interval window, bool whole, Interval& times, uint64_t& clipped) {
  const bool outside = times.start_ns == times.end_ns
                           ? times.start_ns < window.start_ns || times.start_ns >= window.end_ns
                           : times.end_ns <= window.start_ns || times.start_ns >= window.end_ns;
  if (outside) return false;
  if (!whole && (times.start_ns < window.start_ns || times.end_ns > window.end_ns)) {
    ++clipped;
    times.start_ns = std::max(times.start_ns, window.start_ns);
    times.end_ns = std::min(times.end_ns, window.end_ns);
  }
  return true;
}

// The rows that stay, with their times repaired and clipped. `wanted(row)` is asked last.
template <typename Table, typename Wanted>
Order rows_that_stay(Table& table, Interval window, bool whole, uint64_t& bad, uint64_t& clipped,
                     Wanted wanted) {
  Order order;
  order.reserve(table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    Interval times = {table.start_ns[i], table.end_ns[i]};
    const bool reversed = times.end_ns < times.start_ns;
    if (reversed) times.end_ns = times.start_ns;
    if (!wanted(i)) continue;
    bad += reversed ? 1 : 0;
    if (!clip_to(window, whole, times, clipped)) continue;
    table.start_ns[i] = times.start_ns;
    table.end_ns[i] = times.end_ns;
    order.push_back(static_cast<uint32_t>(i));
  }
  return order;
}

// By start; rows that start together by `before`.
template <typename Before>
void sort_rows(const std::vector<int64_t>& start_ns, Order& order, Before before) {
  const auto earlier = [&](uint32_t a, uint32_t b) { return start_ns[a] < start_ns[b]; };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) {
    struct Keyed {
      int64_t start_ns;
      uint32_t row;
    };
    std::vector<Keyed> keyed;
    keyed.reserve(order.size());
    for (const uint32_t row : order) keyed.push_back({start_ns[row], row});
    std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.row < b.row;
    });
    for (size_t i = 0; i < keyed.size(); ++i) order[i] = keyed[i].row;
  }
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && start_ns[order[end]] == start_ns[order[begin]]) ++end;
    if (end - begin > 1) {
      std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
                       order.begin() + static_cast<std::ptrdiff_t>(end), before);
    }
    begin = end;
  }
}

bool is_identity(const Order& order, size_t size) {
  if (order.size() != size) return false;
  for (size_t i = 0; i < size; ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

std::vector<bool> wanted_names(const Trace& trace, const NameFilter* filter) {
  std::vector<bool> wanted;
  if (filter == nullptr || filter->wants_all()) return wanted;
  for (const std::string& name : trace.names) wanted.push_back(filter->wants(name));
  return wanted;
}

Order order_ops(const Request& request, Interval window, Trace& trace) {
  Ops& ops = trace.ops;
  const std::vector<bool> names = wanted_names(trace, request.op_names);
  const auto wanted = [&](size_t i) {
    if (request.gpu && ops.gpu[i] != *request.gpu) return false;
    if (request.rank && trace.rank_of_op(i) != request.rank) return false;
    return names.empty() || names[trace.label(i)];
  };
  Order order = rows_that_stay(ops, window, request.whole, trace.changed.bad_ops,
                               trace.changed.clipped_ops, wanted);
  const auto bytes_of = [&](uint32_t row) { return ops.bytes.empty() ? 0 : ops.bytes[row]; };
  sort_rows(ops.start_ns, order, [&](uint32_t a, uint32_t b) {
    if (ops.end_ns[a] != ops.end_ns[b]) return ops.end_ns[a] < ops.end_ns[b];
    if (ops.queue[a] != ops.queue[b]) return ops.queue[a] < ops.queue[b];
    if (ops.name[a] != ops.name[b]) return trace.names[ops.name[a]] < trace.names[ops.name[b]];
    if (ops.type[a] != ops.type[b]) return trace.names[ops.type[a]] < trace.names[ops.type[b]];
    return bytes_of(a) < bytes_of(b);
  });
  return order;
}

// Processes of the rank, and those without one that were merged from the same file as they: the
// devices' own rows.
std::vector<bool> processes_of_rank(const Trace& trace, int64_t rank) {
  std::set<int64_t> files;
  for (const Process& process : trace.processes) {
    if (process.rank == rank) files.insert(file_of(process.pid));
  }
  std::vector<bool> wanted;
  for (const Process& process : trace.processes) {
    wanted.push_back(process.rank ? process.rank == rank : files.count(file_of(process.pid)) != 0);
  }
  return wanted;
}

Order order_apis(const Request& request, Interval window, Trace& trace) {
  Apis& apis = trace.apis;
  const std::vector<bool> names = wanted_names(trace, request.api_names);
  const std::vector<bool> processes =
      request.rank ? processes_of_rank(trace, *request.rank) : std::vector<bool>();
  const auto wanted = [&](size_t i) {
    if (!names.empty() && !names[apis.name[i]]) return false;
    if (!request.rank) return true;
    const int32_t process = trace.threads[apis.thread[i]].process;
    return process != kNone && processes[static_cast<size_t>(process)];
  };
  const Interval everything = Window{}.select;
  const bool all = request.all_apis || request.whole;
  Order order = rows_that_stay(apis, all ? everything : window, all, trace.changed.bad_apis,
                               trace.changed.clipped_apis, wanted);
  sort_rows(apis.start_ns, order, [&](uint32_t a, uint32_t b) {
    if (apis.end_ns[a] != apis.end_ns[b]) return apis.end_ns[a] > apis.end_ns[b];
    if (!apis.kind.empty() && apis.kind[a] != apis.kind[b]) return apis.kind[a] < apis.kind[b];
    if (!apis.kind.empty()) return false;
    return apis.name[a] != apis.name[b] && trace.names[apis.name[a]] < trace.names[apis.name[b]];
  });
  return order;
}

// By its old row, where each of the rows that stay is now.
std::vector<Row> new_rows(const Order& rows, size_t old_size) {
  std::vector<Row> moved(old_size, kNone);
  for (size_t i = 0; i < rows.size(); ++i) moved[rows[i]] = static_cast<Row>(i);
  return moved;
}

// Counters follow their operations, and go with those that have gone.
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

void relink(Trace& trace, const Order& apis, size_t old_size) {
  if (trace.ops.api.empty()) return;
  const std::vector<Row> moved = new_rows(apis, old_size);
  for (Row& api : trace.ops.api) {
    if (api != kNone) api = moved[static_cast<size_t>(api)];
  }
}

void add_skip_warnings(Trace& trace) {
  const auto add = [&](uint64_t count, const char* what) {
    if (count != 0) trace.warnings.push_back(format_count(count) + what);
  };
  add(trace.changed.bad_ops, " operations end before they start and count as zero long");
  add(trace.changed.bad_apis, " API calls end before they start and count as zero long");
}

// A clock that was set, or a time that was never filled in, leaves a hole that dwarfs everything
// else. The figures stand, but the reader must know.
template <typename Table>
void warn_of_jump(const Table& table, const char* what, Trace& trace) {
  constexpr int64_t kLongHole = 3'600'000'000'000;  // an hour
  constexpr int64_t kMuchLonger = 100;
  if (table.size() < 2) return;
  int64_t last_end = table.end_ns[0];
  int64_t longest = 0;
  size_t at = 0;
  for (size_t i = 1; i < table.size(); ++i) {
    const int64_t hole = table.start_ns[i] - last_end;
    if (hole > longest) {
      longest = hole;
      at = i;
    }
    last_end = std::max(last_end, table.end_ns[i]);
  }
  const int64_t rest = last_end - table.start_ns[0] - longest;
  if (longest < kLongHole || longest / kMuchLonger < rest) return;
  trace.warnings.push_back("times jump: nothing happens for " + format_duration(longest) +
                           " after the first " + format_count(at) + what +
                           ", as if the clock had been set; choose one side with --from or --to");
}

}  // namespace

void extend_program(Trace& trace, int64_t rank) {
  const std::vector<bool> processes = processes_of_rank(trace, rank);
  const auto take = [&](int64_t start_ns, int64_t end_ns) {
    extend(trace.program, {start_ns, std::max(start_ns, end_ns)});
  };
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    const int32_t process = trace.threads[trace.apis.thread[i]].process;
    if (process == kNone || !processes[static_cast<size_t>(process)]) continue;
    take(trace.apis.start_ns[i], trace.apis.end_ns[i]);
  }
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.rank_of_op(i) == rank) take(trace.ops.start_ns[i], trace.ops.end_ns[i]);
  }
}

void keep_ops(Trace& trace, const std::vector<bool>& kept) {
  SONDE_CHECK(kept.size() == trace.ops.size());
  Order order;
  for (size_t row = 0; row < kept.size(); ++row) {
    if (kept[row]) order.push_back(static_cast<uint32_t>(row));
  }
  take_rows(trace.ops, order);
  move_counters(trace.op_counters, new_rows(order, kept.size()));
}

void arrange_rows(const Request& request, const Window& window, Trace& trace) {
  const size_t api_count = trace.apis.size();
  Order apis;
  const auto arrange_apis = [&] {
    apis = order_apis(request, window.select, trace);
    if (!is_identity(apis, api_count)) take_rows(trace.apis, apis);
  };
  const auto arrange_ops = [&] {
    const size_t op_count = trace.ops.size();
    const Order ops = order_ops(request, window.select, trace);
    if (is_identity(ops, op_count)) return;
    take_rows(trace.ops, ops);
    if (trace.op_counters.size() != 0) move_counters(trace.op_counters, new_rows(ops, op_count));
  };
  constexpr size_t kWorthAThread = 50'000;
  if (std::min(api_count, trace.ops.size()) >= kWorthAThread) {
    auto other = std::async(std::launch::async, arrange_apis);
    arrange_ops();
    other.get();
  } else {
    arrange_apis();
    arrange_ops();
  }
  if (!is_identity(apis, api_count)) relink(trace, apis, api_count);
  add_skip_warnings(trace);
  warn_of_jump(trace.ops, " operations", trace);
  warn_of_jump(trace.apis, " calls", trace);
}

}  // namespace sonde::trace
