#include <algorithm>
#include <limits>
#include <map>

#include "analysis/analysis.h"
#include "analysis/operations/op_groups.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

// A counter of one operation, its parts added up.
struct Reading {
  uint32_t op;
  trace::NameId counter;
  double value;
};

std::vector<Reading> readings_of(const trace::Trace& trace) {
  const trace::OpCounters& counters = trace.op_counters;
  std::vector<Reading> parts;
  for (size_t i = 0; i < counters.size(); ++i) {
    parts.push_back({static_cast<uint32_t>(counters.op[i]), counters.name[i], counters.value[i]});
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Reading& a, const Reading& b) {
    return a.op != b.op ? a.op < b.op : a.counter < b.counter;
  });
  std::vector<Reading> readings;
  for (const Reading& part : parts) {
    const bool is_same = !readings.empty() && readings.back().op == part.op &&
                         readings.back().counter == part.counter;
    if (is_same) {
      readings.back().value += part.value;
    } else {
      readings.push_back(part);
    }
  }
  return readings;
}

struct Sum {
  int64_t ops = 0, gpu_ns = 0;
  double sum = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void add(double value, int64_t duration_ns) {
    ++ops;
    gpu_ns += duration_ns;
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

void add_columns(report::Table& table) {
  table.add_columns({text("counter", "Counter"), integer("ops", "Ops"), real("sum", "Sum"),
                     real("mean", "Mean"), real("min", "Min"), real("max", "Max"),
                     time("gpu_ns", "GPU time"), real("per_s", "Per second")});
}

void add_row(std::vector<Value> key, const std::string& counter, const Sum& sum,
             report::Table& table) {
  const auto ns = static_cast<double>(sum.gpu_ns);
  key.insert(key.end(),
             {counter, sum.ops, sum.sum, sum.sum / static_cast<double>(sum.ops), sum.least,
              sum.most, sum.gpu_ns, sum.gpu_ns == 0 ? Value() : Value(sum.sum / ns * 1e9)});
  table.add_row(std::move(key));
}

// By group and counter; the groups with most time first.
report::Section groups_section(const trace::Trace& trace, const std::vector<Reading>& readings,
                               const std::string& by) {
  std::vector<bool> wanted(trace.ops.size(), false);
  for (const Reading& reading : readings) wanted[reading.op] = true;
  const OpGroups groups = group_ops(trace, {by}, wanted);
  std::map<std::pair<uint32_t, std::string>, Sum> sums;
  for (const Reading& reading : readings) {
    sums[{groups.group_of[reading.op], trace.names[reading.counter]}].add(reading.value,
                                                                          trace.op_ns(reading.op));
  }
  report::Section section{.key = "counters", .empty_text = "No hardware counters of operations."};
  section.table.add_columns(groups.columns);
  add_columns(section.table);
  for (const auto& [key, sum] : sums) {
    add_row(groups.groups[key.first].key, key.second, sum, section.table);
  }
  return section;
}

report::Section totals_section(const trace::Trace& trace, const std::vector<Reading>& readings) {
  std::map<std::string, Sum> sums;
  for (const Reading& reading : readings) {
    sums[trace.names[reading.counter]].add(reading.value, trace.op_ns(reading.op));
  }
  report::Section section{.key = "totals", .title = "By counter"};
  add_columns(section.table);
  for (const auto& [counter, sum] : sums) add_row({}, counter, sum, section.table);
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  report::Report report = begin_report("counters", trace);
  const std::vector<Reading> readings = readings_of(trace);
  report.sections.push_back(groups_section(trace, readings, parameters.text("by")));
  if (!readings.empty()) report.sections.push_back(totals_section(trace, readings));
  return report;
}

trace::Request needs(const Parameters& parameters) {
  trace::Request request;
  add_needs_of_group(parameters.text("by"), request);
  request.op_counters = true;
  request.whole = true;
  return request;
}

constexpr const char* kDefinition =
    "counters: hardware counters, joined to the kernels (or other operations) that they were read "
    "for, and added up by kernel; --by groups them otherwise, as in sonde kernels. A row is a "
    "counter of a group. Ops is the number of operations that have the counter, Sum the sum of "
    "their values, Mean, Min and Max are of one operation; where a counter was read in parts (for "
    "each die or shader engine), its value is the sum of the parts. GPU time is the sum of the "
    "durations of these operations, and Per second is Sum divided by that time: the rate while "
    "they ran, unknown where the file has no times. Units are those of the counter. By counter has "
    "the same over all operations, so the sums of the rows add up to it. Counters that were "
    "measured only for some kernels count only for these. With --from or --to an operation that "
    "shares time with the window counts whole, with its counters.\n\n"
    "Reading counters makes kernels run one after the other, and some of them slower, so the times "
    "in such a recording are not the program's usual ones.\n";

}  // namespace

Analysis counters_analysis() {
  return {
      "counters",
      "Show the hardware counters of kernels, with rates",
      "Shows the hardware counters that rocprof, rocprofv3 and others read for each dispatch, by "
      "kernel, operator, module and so on, and their rates per second.",
      kDefinition,
      {{"sonde counters results.csv", "of each kernel"},
       {"sonde counters trace.rpd --by operator --kernel gemm", "by operator, for some kernels"}},
      {{"by", "WHAT", "what a row is", "name", op_group_names()}},
      needs,
      run};
}

}  // namespace sonde::analysis
