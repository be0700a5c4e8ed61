#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/launches/op_order.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using Times = std::vector<int64_t>;

// How many are in a queue over time, as the moments at which the number changes. An operation that
// comes and one that goes at the same moment are both there at it.
struct Depth {
  int64_t max = 0;
  int64_t sum_ns = 0;   // of depth times time, in the time that the mean is of
  int64_t full_ns = 0;  // time at `full` or more
};

template <typename Visit>  // visit(from_ns, to_ns, depth)
int64_t walk(Times& in, Times& out, Visit visit) {
  std::sort(in.begin(), in.end());
  std::sort(out.begin(), out.end());
  int64_t depth = 0;
  int64_t max = 0;
  int64_t since_ns = in.empty() ? 0 : in.front();
  size_t i = 0;
  for (size_t o = 0; o < out.size();) {
    const bool comes = i < in.size() && in[i] <= out[o];
    const int64_t time_ns = comes ? in[i] : out[o];
    if (time_ns > since_ns && depth > 0) visit(since_ns, time_ns, depth);
    since_ns = time_ns;
    depth += comes ? 1 : -1;
    max = std::max(max, depth);
    ++(comes ? i : o);
  }
  return max;
}

// The mean is of the time from first_ns on: a queue that is told to wait is launched into long
// before it runs anything.
Depth depth_of(Times& in, Times& out, int64_t full, int64_t first_ns) {
  Depth depth;
  depth.max = walk(in, out, [&](int64_t from_ns, int64_t to_ns, int64_t length) {
    depth.sum_ns += length * std::max<int64_t>(0, to_ns - std::max(from_ns, first_ns));
    if (length >= full) depth.full_ns += to_ns - from_ns;
  });
  return depth;
}

// What of one queue's operations a figure is about.
struct QueueTimes {
  Times call_begin, call_end, start, end;  // of operations whose call is known
  Times waited_from, waited_to;            // of those that waited after their call
  int64_t linked = 0;
};

QueueTimes times_of(const trace::Trace& trace, std::span<const uint32_t> rows) {
  QueueTimes times;
  for (const uint32_t row : rows) {
    const trace::Row api = trace.ops.api[row];
    if (api == trace::kNone) continue;
    const int64_t call_end = trace.apis.end_ns[static_cast<size_t>(api)];
    const int64_t start = trace.ops.start_ns[row];
    ++times.linked;
    times.call_begin.push_back(trace.apis.start_ns[static_cast<size_t>(api)]);
    // A clock that is off can put a start before the call: it waited for no time.
    times.call_end.push_back(std::min(call_end, trace.ops.end_ns[row]));
    times.start.push_back(start);
    times.end.push_back(trace.ops.end_ns[row]);
    if (start > call_end) {
      times.waited_from.push_back(call_end);
      times.waited_to.push_back(start);
    }
  }
  return times;
}

struct Busy {
  int64_t busy_ns = 0, first_ns = 0, last_ns = 0;
  int64_t overlapping = 0;  // operations that start before all earlier ones have ended
};

Busy busy_of(const trace::Trace& trace, std::span<const uint32_t> rows) {
  Busy busy;
  busy.first_ns = trace.ops.start_ns[rows.front()];
  busy.last_ns = std::numeric_limits<int64_t>::min();
  for (const uint32_t row : rows) {
    const int64_t start = trace.ops.start_ns[row];
    const int64_t end = trace.ops.end_ns[row];
    if (start < busy.last_ns) ++busy.overlapping;
    busy.busy_ns += std::max<int64_t>(0, end - std::max(start, busy.last_ns));
    busy.last_ns = std::max(busy.last_ns, end);
  }
  return busy;
}

void add_figures(report::Table& table) {
  table.add_columns(
      {integer("ops", "Ops"), integer("linked_ops", "With call"), time("busy_ns", "Busy"),
       time("idle_between_ns", "Idle between"), integer("overlapping_starts", "Overlapping"),
       integer("max_queue_len", "Max length"), integer("max_waiting", "Max waiting"),
       real("mean_waiting", "Mean waiting"), integer("max_outstanding", "Max outstanding"),
       real("mean_outstanding", "Mean outstanding"), time("full_ns", "At full"),
       id("first_ns", "First start"), id("last_ns", "Last end")});
}

report::Section queues_section() {
  report::Section section{.key = "queues", .empty_text = "No device operations."};
  section.table.add_columns({id("gpu_id", "GPU"), id("queue_id", "Queue")});
  add_figures(section.table);
  return section;
}

report::Section streams_section() {
  report::Section section{.key = "streams",
                          .title = "Streams, as the program names them",
                          .empty_text = "The file does not say of streams other than the queues."};
  section.table.add_columns(
      {text("stream", "Stream"), id("pid", "PID"), integer("queues", "Queues")});
  add_figures(section.table);
  return section;
}

report::Section series_section() {
  report::Section section{.key = "depth",
                          .title = "Outstanding over time",
                          .empty_text = "No operation whose launching call is known."};
  section.table.add_columns({id("gpu_id", "GPU"), id("queue_id", "Queue"), time("from_ns", "From"),
                             integer("max_outstanding", "Max"), real("mean_outstanding", "Mean")});
  report::Chart chart;
  chart.key = section.key;
  chart.title = section.title;
  chart.x = {"Time", Kind::kTime};
  chart.y = {"Outstanding operations, mean", Kind::kReal};
  section.charts.push_back(std::move(chart));
  return section;
}

// The time from the first call to the last end in equal parts.
void add_series(const trace::Queue& queue, QueueTimes& times, int64_t parts, int64_t origin_ns,
                report::Section& section) {
  if (times.linked == 0 || parts == 0) return;
  const int64_t first = *std::min_element(times.call_end.begin(), times.call_end.end());
  const int64_t last = *std::max_element(times.end.begin(), times.end.end());
  if (last <= first) return;
  const int64_t width = (last - first + parts - 1) / parts;
  std::vector<Depth> series(static_cast<size_t>((last - first + width - 1) / width));
  walk(times.call_end, times.end, [&](int64_t from_ns, int64_t to_ns, int64_t depth) {
    for (int64_t part = (from_ns - first) / width; first + part * width < to_ns; ++part) {
      Depth& there = series[static_cast<size_t>(part)];
      const int64_t begin = std::max(from_ns, first + part * width);
      const int64_t end = std::min(to_ns, first + (part + 1) * width);
      there.max = std::max(there.max, depth);
      there.sum_ns += depth * (end - begin);
    }
  });
  report::Series drawn;
  drawn.name = fmt::format("GPU {}, queue {}", queue.gpu, queue.queue);
  drawn.mark = report::Mark::kSteps;
  for (size_t part = 0; part < series.size(); ++part) {
    const auto from = static_cast<int64_t>(part) * width;
    const int64_t length = std::min(width, last - first - from);
    const double mean = static_cast<double>(series[part].sum_ns) / static_cast<double>(length);
    const int64_t from_ns = first - origin_ns + from;
    section.table.add_row({int64_t{queue.gpu}, queue.queue, from_ns, series[part].max, mean});
    drawn.places.push_back(static_cast<double>(from_ns));
    drawn.values.push_back(mean);
  }
  section.charts.front().series.push_back(std::move(drawn));
}

// Chooses the queues with most work, as many as can be told apart; none in a trace without queues.
void choose_drawn(report::Section& section) {
  constexpr size_t kMostSeries = 8;
  auto& series = section.charts.front().series;
  std::stable_sort(series.begin(), series.end(), [](const auto& a, const auto& b) {
    return std::accumulate(a.values.begin(), a.values.end(), 0.0) >
           std::accumulate(b.values.begin(), b.values.end(), 0.0);
  });
  if (series.size() > kMostSeries) series.resize(kMostSeries);
  if (series.empty()) section.charts.clear();
}

Value mean(const Depth& depth, int64_t wall) {
  if (wall <= 0) return std::monostate{};
  return static_cast<double>(depth.sum_ns) / static_cast<double>(wall);
}

Value if_linked(const QueueTimes& times, Value value) {
  return times.linked == 0 ? Value() : std::move(value);
}

// The cells of one row after its key.
void add_row(const trace::Trace& trace, std::span<const uint32_t> rows, int64_t full,
             QueueTimes& times, std::vector<Value> key, report::Table& table) {
  const Busy busy = busy_of(trace, rows);
  const int64_t span = busy.last_ns - busy.first_ns;
  const Depth waiting = depth_of(times.waited_from, times.waited_to, full, busy.first_ns);
  const Depth outstanding = depth_of(times.call_end, times.end, full, busy.first_ns);
  const Depth plain = depth_of(times.call_begin, times.start, full, busy.first_ns);
  key.insert(key.end(),
             {static_cast<int64_t>(rows.size()), times.linked, busy.busy_ns, span - busy.busy_ns,
              busy.overlapping, if_linked(times, plain.max), if_linked(times, waiting.max),
              if_linked(times, mean(waiting, span)), if_linked(times, outstanding.max),
              if_linked(times, mean(outstanding, span)), if_linked(times, outstanding.full_ns),
              busy.first_ns, busy.last_ns});
  table.add_row(std::move(key));
}

void add_streams(const trace::Trace& trace, int64_t full, report::Section& section) {
  const OpOrder order = order_of_ops(trace);
  const Groups groups = group_rows(order.stream, order.streams.size());
  for (size_t group = 0; group < groups.size(); ++group) {
    const auto rows = groups.of(group);
    const Stream& stream = order.streams[group];
    std::set<uint32_t> queues;
    for (const uint32_t row : rows) queues.insert(trace.ops.queue[row]);
    std::string name = stream.handle == 0  ? fmt::format("null stream of GPU {}", stream.gpu)
                       : stream.handle < 0 ? std::string("a thread's own")
                                           : fmt::format("{:#x}", stream.handle);
    const Value pid = stream.process == trace::kNone
                          ? Value()
                          : Value(trace.processes[static_cast<size_t>(stream.process)].pid);
    QueueTimes times = times_of(trace, rows);
    add_row(trace, rows, full, times, {std::move(name), pid, static_cast<int64_t>(queues.size())},
            section.table);
  }
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  SONDE_ASSIGN(const int64_t full, parameters.count("full"));
  SONDE_ASSIGN(const int64_t parts, parameters.count("parts"));
  report::Report report = begin_report("queues", trace);
  report::Section queues = queues_section();
  report::Section streams = streams_section();
  report::Section series = series_section();
  const Groups groups = group_rows(trace.ops.queue, trace.queues.size());
  int64_t linked = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    const auto rows = groups.of(group);
    if (rows.empty()) continue;
    const trace::Queue& queue = trace.queues[group];
    QueueTimes times = times_of(trace, rows);
    linked += times.linked;
    add_row(trace, rows, full, times, {int64_t{queue.gpu}, queue.queue}, queues.table);
    add_series(queue, times, parts, trace.origin_ns, series);
  }
  if (trace.ops.size() != 0 && linked == 0) {
    report.notes.push_back("the file has no launching calls, so the depth of queues is not known");
  }
  choose_drawn(series);
  add_streams(trace, full, streams);
  report.sections = {std::move(queues), std::move(streams), std::move(series)};
  return report;
}

constexpr const char* kDefinition =
    "queues: one row for each queue of each GPU. Queues are those of the hardware, or what the "
    "file has in their place; in traces of CUDA these are the streams.\n\n"
    "Busy is the time in which at least one operation of the queue ran. Idle between is the "
    "rest of the time from its first start to its last end. Overlapping counts the operations "
    "that started before all earlier operations of the queue had ended. First start and Last "
    "end are times of the file's clock.\n\n"
    "With call counts the operations whose launching call is known; the following figures cover "
    "only these. An operation is outstanding from the end of the call that launched it to its "
    "own end, and waiting from the end of the call to its start. An operation that started "
    "before the call returned never waits. Means are taken over the time from the queue's first "
    "start to its last end; what waited before the first start counts in the means from then on. "
    "The maxima, and At full, the time in which at least --full operations were outstanding, are "
    "also of the time before. At the moment at which one operation comes and another goes, both "
    "are there. All streams count, each on its own.\n\n"
    "Streams shows the same figures for each stream, as the launching calls name them, if the "
    "file says so. One stream may run on several queues (kernels on one, copies on another) and "
    "is still in order; several streams may share one queue.\n\n"
    "Max length follows the plain convention of other tools: +1 at the start of the launching "
    "call, -1 at the start of the operation.\n\n"
    "Outstanding over time divides the time from the queue's first call to its last end into "
    "--parts equal parts. From counts from the start of the trace, like --from. The picture "
    "(--format svg or html) shows the eight queues with the most outstanding operations over the "
    "time of the trace.\n";

}  // namespace

Analysis queues_analysis() {
  return {"queues",
          "Show how many operations wait in each queue, and when a queue is full",
          "Queues that run empty leave the GPU idle; queues that are full make the program wait.",
          kDefinition,
          {{"sonde queues trace.json", "each queue, and its depth over time"},
           {"sonde queues trace.json --full 512", "a queue of 512 entries is full"}},
          {{"full", "N", "a queue with this many outstanding operations is full", "1024"},
           {"parts", "N", "number of equal parts of the time", "20"}},
          [](const Parameters&) { return launch_needs(); },
          run,
          true};
}

}  // namespace sonde::analysis
