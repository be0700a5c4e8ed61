#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/operations/queue_kernels.h"
#include "analysis/quantile.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

// The same kernel after the same kernels.
struct Contexts {
  std::vector<uint32_t> of_op;                     // by operation; kNoGroup: no kernel
  std::vector<std::vector<trace::NameId>> before;  // by context, the nearest last
};

Contexts find_contexts(const trace::Trace& trace, size_t depth) {
  Contexts contexts;
  contexts.of_op.assign(trace.ops.size(), kNoGroup);
  std::map<std::vector<trace::NameId>, uint32_t> numbers;  // the kernel itself is the last name
  for (const std::vector<size_t>& queue : kernels_of_queues(trace)) {
    std::vector<trace::NameId> names;
    for (const size_t op : queue) {
      if (names.size() > depth) names.erase(names.begin());
      names.push_back(trace.label(op));
      const auto [entry, is_new] =
          numbers.try_emplace(names, static_cast<uint32_t>(contexts.before.size()));
      if (is_new) contexts.before.emplace_back(names.begin(), names.end() - 1);
      contexts.of_op[op] = entry->second;
    }
  }
  return contexts;
}

// Sums over pairs of x and y, for the line through them and for how well it fits.
struct Line {
  double x_mean = 0, y_mean = 0, xx = 0, xy = 0, yy = 0;
  Line(const std::vector<double>& x, const std::vector<double>& y) {
    for (size_t i = 0; i < x.size(); ++i) {
      x_mean += x[i] / static_cast<double>(x.size());
      y_mean += y[i] / static_cast<double>(x.size());
    }
    for (size_t i = 0; i < x.size(); ++i) {
      xx += (x[i] - x_mean) * (x[i] - x_mean);
      xy += (x[i] - x_mean) * (y[i] - y_mean);
      yy += (y[i] - y_mean) * (y[i] - y_mean);
    }
  }
  Value correlation() const {
    if (xx == 0 || yy == 0) return std::monostate{};
    return xy / std::sqrt(xx * yy);
  }
};

// By how much a value grows from the first to the last call, in percent of its mean: the slope of
// the least-squares line over the time. Unknown if all begin at once.
Value drift_of(const std::vector<double>& times, const std::vector<double>& values) {
  const Line line(times, values);
  if (line.xx == 0 || line.y_mean == 0) return std::monostate{};
  return line.xy / line.xx * (times.back() - times.front()) / line.y_mean * 100;
}

// When calls began, from the first of them on, and how long they took.
struct Course {
  std::vector<double> times, durations;
  void add(const trace::Trace& trace, uint32_t row, uint32_t first) {
    times.push_back(static_cast<double>(trace.ops.start_ns[row] - trace.ops.start_ns[first]));
    durations.push_back(static_cast<double>(trace.op_ns(row)));
  }
};

// What the sensor showed last when an operation began; nullptr before its first reading.
const trace::Monitor::Reading* reading_at(const trace::Monitor& monitor, int64_t time_ns) {
  const auto next = std::upper_bound(monitor.readings.begin(), monitor.readings.end(), time_ns,
                                     [](int64_t time, const trace::Monitor::Reading& reading) {
                                       return time < reading.time.start_ns;
                                     });
  return next == monitor.readings.begin() ? nullptr : &next[-1];
}

void add_columns(report::Table& table) {
  table.add_columns({name("name", "Name"), text("after", "After"), integer("calls", "Calls"),
                     time("excess_ns", "Excess"), time("p5_ns", "P5"), time("median_ns", "Median"),
                     time("mean_ns", "Mean"), time("p95_ns", "P95"),
                     real("p95_by_median", "P95/median"), real("cv", "CV"),
                     percent("drift_percentage", "Drift")});
}

std::set<std::string> sensors_of(const trace::Trace& trace) {
  std::set<std::string> sensors;
  for (const trace::Monitor& monitor : trace.monitors) sensors.insert(monitor.what);
  return sensors;
}

// How much longer the calls took than the fastest of them show to be possible.
std::vector<Value> row_of(const trace::Trace& trace, const std::string& after,
                          std::span<const uint32_t> rows) {
  std::vector<int64_t> durations;
  for (const uint32_t row : rows) durations.push_back(trace.op_ns(row));
  const int64_t golden_ns = quantile(durations, 5);
  const Spread spread = spread_of(durations);
  Course course;
  for (const uint32_t row : rows) course.add(trace, row, rows.front());
  const int64_t excess_ns = spread.total_ns - golden_ns * spread.calls;
  return {trace.names[trace.label(rows.front())],
          after,
          spread.calls,
          excess_ns,
          golden_ns,
          spread.median_ns,
          spread.mean_ns(),
          spread.p95_ns,
          ratio_of(spread.p95_ns, spread.median_ns),
          spread.cv(),
          drift_of(course.times, course.durations)};
}

report::Section sensors_section(const trace::Trace& trace, const KernelNames& names,
                                const Contexts& contexts, const Groups& groups,
                                const std::vector<size_t>& shown) {
  report::Section section{.key = "sensors",
                          .title = "Against the GPUs' sensor readings",
                          .empty_text = "No reading was taken before these kernels."};
  report::Table& table = section.table;
  table.add_columns({name("name", "Name"), text("after", "After"), text("sensor", "Sensor"),
                     integer("calls", "Calls"), real("reading", "Mean"),
                     percent("reading_drift_percentage", "Its drift"),
                     real("correlation", "Correlation")});
  for (const size_t context : shown) {
    const auto rows = groups.of(context);
    for (const std::string& what : sensors_of(trace)) {
      Course course;
      std::vector<double> readings;
      for (const uint32_t row : rows) {
        for (const trace::Monitor& monitor : trace.monitors) {
          if (monitor.what != what || monitor.gpu != trace.ops.gpu[row]) continue;
          const auto* reading = reading_at(monitor, trace.ops.start_ns[row]);
          if (reading == nullptr) continue;
          course.add(trace, row, rows.front());
          readings.push_back(reading->value);
        }
      }
      if (readings.empty()) continue;
      const Line line(readings, course.durations);
      table.add_row({trace.names[trace.label(rows.front())], names.joined(contexts.before[context]),
                     what, static_cast<int64_t>(readings.size()), line.x_mean,
                     drift_of(course.times, readings), line.correlation()});
    }
  }
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  SONDE_ASSIGN(const int64_t depth, parameters.count("context"));
  SONDE_ASSIGN(const int64_t least, parameters.count("count"));
  report::Report report = begin_report("variability", trace);
  const Contexts contexts =
      find_contexts(trace, static_cast<size_t>(std::clamp<int64_t>(depth, 0, 64)));
  const Groups groups = group_rows(contexts.of_op, contexts.before.size());
  report::Section section{.key = "variability",
                          .empty_text = contexts.before.empty()
                                            ? "No kernels."
                                            : "No kernel occurs that often in one place."};
  add_columns(section.table);
  const KernelNames names(trace);
  std::vector<std::pair<std::vector<Value>, size_t>> found;  // with the context
  for (size_t context = 0; context < groups.size(); ++context) {
    const auto rows = groups.of(context);
    if (static_cast<int64_t>(rows.size()) < std::max<int64_t>(least, 2)) continue;
    found.emplace_back(row_of(trace, names.joined(contexts.before[context]), rows), context);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a.first[3]) > std::get<int64_t>(b.first[3]);
  });
  std::vector<size_t> shown;
  for (auto& [row, context] : found) {
    section.table.add_row(std::move(row));
    shown.push_back(context);
  }
  report.sections.push_back(std::move(section));
  if (!trace.monitors.empty() && !shown.empty()) {
    report.sections.push_back(sensors_section(trace, names, contexts, groups, shown));
  }
  return report;
}

constexpr const char* kDefinition =
    "variability: how much the duration of the same kernel varies in the same place. A place is a "
    "kernel together with the --context kernels before it on its queue, so that a kernel that is "
    "called for several purposes does not appear to vary. The table shows places that occur at "
    "least --count times; names in After are shortened.\n\n"
    "P5 is the smallest duration that at least 5 % of the calls do not exceed: what is possible, "
    "without relying on one lucky call. Excess is Total - P5 x Calls: the time that the calls took "
    "beyond it. CV is the standard deviation of the sample / mean. Drift is the slope of the "
    "least-squares line through the durations over time, times the time from the first call to the "
    "last, in percent of the mean: positive if the kernel became slower (clocks that go down, "
    "memory that fragments).\n\n"
    "Where the file has sensor readings (clock, temperature, power), each call has the last "
    "reading of its GPU that began before it. Mean and Its drift are of these readings; "
    "Correlation is that of durations and readings: near -1 for a clock, the kernel is slow when "
    "the clock is low; near 0, something else makes it vary.\n";

}  // namespace

Analysis variability_analysis() {
  return {"variability",
          "Find kernels with variable duration",
          "Shows how much time kernels took beyond their fast runs in the same place, how the "
          "durations vary, and whether they drift.",
          kDefinition,
          {{"sonde variability trace.rpd", "the kernels that lose most time first"},
           {"sonde variability trace.rpd --context 0 --sort drift_percentage",
            "kernels wherever they are called, those that slow down most first"}},
          {{"context", "N", "how many preceding kernels define the place of a kernel", "2"},
           {"count", "N", "how often a kernel must occur in one place", "10"}},
          [](const Parameters&) { return trace::Request{.ops = true, .monitors = true}; },
          run};
}

}  // namespace sonde::analysis
