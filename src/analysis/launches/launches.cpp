#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/launches/op_order.h"
#include "analysis/quantile.h"
#include "analysis/totals.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

// A: the call, Q: from its end to the start of the operation, K: the operation, T: from the start
// of the call to the end of both. W: of the time from the start of the call to the start of the
// operation, that in which something it had to wait for still ran; S: the rest of that time.
constexpr const char* kPhases[] = {"A: call",
                                   "Q: in the queue",
                                   "K: operation",
                                   "T: all",
                                   "W: behind other operations",
                                   "S: to its start, without W"};

struct Launches {
  std::vector<uint32_t> ops;  // those with a call
  std::vector<int64_t> phases[std::size(kPhases)];
  std::vector<int64_t> from_begin, from_end;  // signed delays, by index in ops
  std::vector<int64_t> behind;                // W or kCutOff, by index in ops
  int64_t cut_off = 0;
  int64_t unlinked = 0, started_before_call = 0, started_before_end = 0;
  int64_t api_ns = 0;       // the call's time, once for each operation
  int64_t graph_calls = 0;  // calls that launched several operations
  int64_t calls = 0;
};

constexpr int64_t kCutOff = -1;

// For how long after a time something still ran that the operation had to wait for. kCutOff if that
// may have ended between the time and the start of the window, where the trace has no operations;
// what ends in the window is there, and what ended before it is then of no matter.
int64_t behind_ns(const trace::Trace& trace, const OpOrder& order, size_t op, int64_t from_ns) {
  int64_t ready = from_ns;
  bool is_known = !trace.window || from_ns >= trace.window->start_ns;
  for (const trace::Row before : {order.after[op], order.running[op]}) {
    if (before == trace::kNone) continue;
    ready = std::max(ready, trace.ops.end_ns[static_cast<size_t>(before)]);
    is_known = true;
  }
  if (!is_known) return kCutOff;
  return std::max<int64_t>(0, std::min(ready, trace.ops.start_ns[op]) - from_ns);
}

Launches launches_of(const trace::Trace& trace) {
  const OpOrder order = order_of_ops(trace);
  Launches found;
  std::vector<uint32_t> made(trace.apis.size(), 0);  // operations by call
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    const trace::Row row = trace.ops.api[i];
    if (row == trace::kNone) {
      ++found.unlinked;
      continue;
    }
    const auto api = static_cast<size_t>(row);
    const int64_t begin = trace.apis.start_ns[api];
    const int64_t end = trace.apis.end_ns[api];
    const int64_t start = trace.ops.start_ns[i];
    found.ops.push_back(static_cast<uint32_t>(i));
    found.from_begin.push_back(start - begin);
    found.from_end.push_back(start - end);
    const int64_t behind = behind_ns(trace, order, i, begin);
    found.behind.push_back(behind);
    if (behind > 0) found.phases[4].push_back(behind);
    if (behind == kCutOff) {
      ++found.cut_off;
    } else if (start >= begin) {
      found.phases[5].push_back(start - begin - behind);
    }
    found.api_ns += end - begin;
    found.started_before_call += start < begin ? 1 : 0;
    found.started_before_end += start < end ? 1 : 0;
    if (made[api]++ == 0) {
      ++found.calls;
      found.phases[0].push_back(end - begin);
    }
    found.graph_calls += made[api] == 2 ? 1 : 0;
    if (start >= end) found.phases[1].push_back(start - end);
    found.phases[2].push_back(trace.op_ns(i));
    found.phases[3].push_back(std::max(end, trace.ops.end_ns[i]) - std::min(begin, start));
  }
  return found;
}

int64_t sum(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

report::Section phases_section(Launches& launches, int64_t short_ops, int64_t short_ns,
                               int64_t wall) {
  report::Section section{.key = "launches",
                          .empty_text = "No operation whose launching call is known."};
  report::Table& table = section.table;
  table.add_columns({text("phase", "Phase"), integer("count", "Count"), time("total_ns", "Sum"),
                     time("mean_ns", "Mean"), time("median_ns", "Median"), time("p95_ns", "P95"),
                     time("min_ns", "Min"), time("max_ns", "Max")});
  const auto fact = [&](const char* key, const char* title, Kind kind, Value value) {
    section.add_fact({key, title, kind, std::move(value)});
  };
  const auto linked = static_cast<int64_t>(launches.ops.size());
  if (linked + launches.unlinked == 0) return section;
  fact("gpu_ops_with_runtime", "Operations with a call", Kind::kInteger, linked);
  fact("gpu_ops_without_runtime", "Operations without", Kind::kInteger, launches.unlinked);
  if (linked == 0) return section;
  fact("calls", "Calls that launched something", Kind::kInteger, launches.calls);
  fact("calls_with_many_ops", "Calls that launched several (graphs)", Kind::kInteger,
       launches.graph_calls);
  fact("short_ops", "Short operations", Kind::kInteger, short_ops);
  fact("short_ops_percentage", "Short operations, of those with a call", Kind::kPercent,
       percent_of(short_ops, linked));
  fact("short_ops_ns", "Time of short operations", Kind::kTime, short_ns);
  fact("short_ops_wall_percentage", "Time of short operations, of wall", Kind::kPercent,
       percent_of(short_ns, wall));
  fact("started_before_call_ended", "Started before the call ended", Kind::kInteger,
       launches.started_before_end);
  fact("kernel_before_call_begin", "Started before the call began (clocks)", Kind::kInteger,
       launches.started_before_call);
  fact("delay_from_call_begin_sum_ns", "Delay from call start, sum", Kind::kTime,
       sum(launches.from_begin));
  std::vector<int64_t> from_begin = launches.from_begin;
  fact("delay_from_call_begin_median_ns", "Delay from call start, median", Kind::kTime,
       median(from_begin));
  fact("delay_from_call_end_sum_ns", "Delay from call end, sum", Kind::kTime,
       sum(launches.from_end));
  fact("api_dur_sum_ns", "Time of calls, once for each operation", Kind::kTime, launches.api_ns);
  for (size_t i = 0; i < std::size(kPhases); ++i) {
    Spread spread = spread_of(launches.phases[i]);
    if (spread.calls == 0) continue;
    table.add_row({std::string(kPhases[i]), spread.calls, spread.total_ns, spread.mean_ns(),
                   spread.median_ns, spread.p95_ns, spread.min_ns, spread.max_ns});
  }
  return section;
}

report::Section by_name_section(const trace::Trace& trace, const Launches& launches) {
  report::Section section{.key = "by_name", .title = "By name"};
  report::Table& table = section.table;
  table.add_columns({name("name", "Name"), integer("count", "Count"), time("api_ns", "A"),
                     time("queue_ns", "Q"), time("operation_ns", "K"),
                     time("median_queue_ns", "Median Q"), integer("shorter_than_call", "K < A")});
  std::vector<uint32_t> group_of(launches.ops.size());
  for (size_t i = 0; i < group_of.size(); ++i) group_of[i] = trace.label(launches.ops[i]);
  const Groups groups = group_rows(group_of, trace.names.size());
  struct Line {
    size_t name;
    int64_t api_ns = 0, queue_ns = 0, op_ns = 0, median_ns = 0, shorter = 0, count = 0;
  };
  std::vector<Line> lines;
  std::vector<int64_t> queued;
  for (size_t name = 0; name < groups.size(); ++name) {
    if (groups.of(name).empty()) continue;
    Line line{name};
    queued.clear();
    for (const uint32_t i : groups.of(name)) {
      const int64_t api = launches.from_begin[i] - launches.from_end[i];
      const int64_t duration = trace.op_ns(launches.ops[i]);
      ++line.count;
      line.api_ns += api;
      line.op_ns += duration;
      line.shorter += duration < api ? 1 : 0;
      if (launches.from_end[i] >= 0) queued.push_back(launches.from_end[i]);
    }
    line.queue_ns = sum(queued);
    line.median_ns = median(queued);
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    return a.api_ns != b.api_ns ? a.api_ns > b.api_ns : trace.names[a.name] < trace.names[b.name];
  });
  for (const Line& line : lines) {
    table.add_row({trace.names[line.name], line.count, line.api_ns, line.queue_ns, line.op_ns,
                   line.median_ns, line.shorter});
  }
  return section;
}

// The longest calls and delays beyond a limit: the fixed one, or median + 5 median absolute
// deviations where that is larger.
struct Limit {
  int64_t fixed_ns = 0, spread_ns = 0;
  int64_t value() const { return std::max(fixed_ns, spread_ns); }
};

Limit limit_of(std::vector<int64_t> values, int64_t fixed_ns) {
  constexpr int64_t kDeviations = 5;
  const int64_t middle = median(values);
  for (int64_t& value : values) value = std::abs(value - middle);
  return {fixed_ns, middle + kDeviations * median(values)};
}

report::Section outliers_section(const trace::Trace& trace, const Launches& launches,
                                 const char* key, const char* title,
                                 const std::vector<int64_t>& values, Limit limit) {
  report::Section section{
      .key = key,
      .title = fmt::format("{} beyond {}, the longest", title, format_duration(limit.value())),
      .empty_text = "None."};
  report::Table& table = section.table;
  table.add_columns({time("time_ns", "Time"), text("call", "Call"), name("name", "Operation"),
                     time("call_begin_ns", "Call began at")});
  std::vector<uint32_t> beyond;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > limit.value()) beyond.push_back(static_cast<uint32_t>(i));
  }
  std::stable_sort(beyond.begin(), beyond.end(),
                   [&](uint32_t a, uint32_t b) { return values[a] > values[b]; });
  section.add_fact(
      {std::string(key) + "_count", "Count", Kind::kInteger, static_cast<int64_t>(beyond.size())});
  constexpr size_t kMostLines = 10;
  if (beyond.size() > kMostLines) beyond.resize(kMostLines);
  for (const uint32_t i : beyond) {
    const size_t op = launches.ops[i];
    const auto api = static_cast<size_t>(trace.ops.api[op]);
    table.add_row({values[i], trace.names[trace.apis.name[api]], trace.names[trace.label(op)],
                   trace.apis.start_ns[api] - trace.origin_ns});
  }
  return section;
}

// Late without a reason in the trace: an operation behind others was not late.
report::Section late_section(const trace::Trace& trace, const Launches& launches,
                             int64_t fixed_ns) {
  std::vector<int64_t> late(launches.ops.size(), std::numeric_limits<int64_t>::min());
  std::vector<int64_t> known;
  for (size_t i = 0; i < late.size(); ++i) {
    if (launches.behind[i] == kCutOff) continue;
    const int64_t call_ns = launches.from_begin[i] - launches.from_end[i];
    late[i] = launches.from_begin[i] - std::max(call_ns, launches.behind[i]);
    known.push_back(late[i]);
  }
  return outliers_section(trace, launches, "slow_starts", "Starts after the call", late,
                          limit_of(std::move(known), fixed_ns));
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  SONDE_ASSIGN(const int64_t short_limit, parameters.duration_ns("short"));
  SONDE_ASSIGN(const int64_t call_limit, parameters.duration_ns("slow-call"));
  SONDE_ASSIGN(const int64_t delay_limit, parameters.duration_ns("slow-start"));
  report::Report report = begin_report("launches", trace);
  Launches launches = launches_of(trace);
  int64_t short_ops = 0;
  int64_t short_ns = 0;
  for (const uint32_t op : launches.ops) {
    if (trace.op_ns(op) >= short_limit) continue;
    ++short_ops;
    short_ns += trace.op_ns(op);
  }
  report.sections.push_back(phases_section(launches, short_ops, short_ns, wall_ns(trace)));
  if (launches.ops.empty()) {
    if (launches.unlinked != 0) {
      report.notes.push_back("the file does not say which calls launched its operations");
    }
    return report;
  }
  report.sections.push_back(by_name_section(trace, launches));
  std::vector<int64_t> calls(launches.ops.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    calls[i] = launches.from_begin[i] - launches.from_end[i];
  }
  report.sections.push_back(
      outliers_section(trace, launches, "slow_calls", "Calls", calls, limit_of(calls, call_limit)));
  report.sections.push_back(late_section(trace, launches, delay_limit));
  if (launches.cut_off != 0) {
    report.notes.push_back(format_count(static_cast<uint64_t>(launches.cut_off)) +
                           " operations were launched before the window, and what they may have "
                           "waited for ended before it: they are in neither W nor S, and not "
                           "among the starts beyond the limit");
  }
  if (launches.unlinked != 0) {
    report.notes.push_back(format_count(static_cast<uint64_t>(launches.unlinked)) +
                           " operations have no launching call in the file: they were launched "
                           "before the recording, or the file does not say");
  }
  return report;
}

constexpr const char* kDefinition =
    "launches: the time between a call and the operation that it launched, in any runtime (HIP, "
    "CUDA, OpenCL, HSA).\n\n"
    "A is the duration of the launching call, counted once even if the call launched several "
    "operations. Q is the time from the end of the call to the start of the operation; operations "
    "that started before the call ended have no Q. K is the duration of the operation. T is the "
    "time from the start of the call to the end of the call or of the operation, whichever is "
    "later. W is the part of the time between the start of the call and the start of the operation "
    "during which the operation had to wait for another one that was still running: the one before "
    "it on its queue or in its stream, or one of the null stream (as in sonde critical-path). S is "
    "the rest of that time. With --from or --window, an operation that was launched before the "
    "window and has nothing to wait for in the window has neither W nor S, since what it waited for "
    "may have ended before the window; a note counts these.\n\n"
    "The facts above the table cover all operations whose call is known. Short operations take "
    "less than --short. Wall is defined as in sonde kernels. Delay from call end is the start of "
    "the operation - the end of the call, negative for an operation that started before its call "
    "ended. Its sum, and that of Delay from call start, are the figures of other tools, over all "
    "operations including copies and memsets. The median is rounded down to a nanosecond.\n\n"
    "By name sums A (once for each operation), Q and K over the operations of each name, and "
    "counts the operations that took less time than their call.\n\n"
    "Calls beyond counts the calls whose A is unusually long, and lists the ten longest. Starts "
    "beyond does the same for the part of Q that is not W, where W is known. The limits are "
    "--slow-call and --slow-start, or the median plus 5 median absolute deviations if that is "
    "more. Call began at counts from the start of the trace, like --from.\n";

}  // namespace

Analysis launches_analysis() {
  return {"launches",
          "Show launch costs: the call, the time in the queue, the operation",
          "Shows the time of launching calls, of waiting in the queue and of operations, short "
          "operations, and the calls and starts that took unusually long.",
          kDefinition,
          {{"sonde launches trace.json", "of all operations"},
           {"sonde launches trace.json --gpu 0 --short 5us", "of one GPU"}},
          {{"short", "TIME", "an operation that takes less is short", "10us"},
           {"slow-call", "TIME", "a call that takes more is listed", "50us"},
           {"slow-start", "TIME", "a start later than this after its call is listed", "100us"}},
          [](const Parameters&) {
            trace::Request request = launch_needs();
            request.explains_idle = true;
            return request;
          },
          run,
          true};
}

}  // namespace sonde::analysis
