#include "analysis/analysis.h"
#include "analysis/operations/op_groups.h"

namespace sonde::analysis {
namespace {

Result<report::Report> run(const trace::Trace& trace, const Parameters&) {
  report::Report report = begin_report("top", trace);
  report::Section section;
  section.key = "top";
  section.empty_text = "No operations of a device.";
  section.table = totals_table(group_ops(trace, {"name"}, all_ops(trace)));
  report.sections.push_back(std::move(section));
  return report;
}

constexpr const char* kDefinition =
    "top: one row for each name of an operation of a device. Name is the kernel's name, or the "
    "operation's type (CopyHostToDevice, FillBuffer ...) where it has no name. Calls counts the "
    "operations. Total is the sum of their durations (end - start), Mean is Total / Calls rounded "
    "down, Min and Max are the shortest and the longest. Share is Total in percent of the total of "
    "all rows. Operations that run at the same time each count in full, so Total can exceed the "
    "wall time; sonde busy does not count time twice.\n"
    "\n"
    "These are the figures of RPD's view `top`, with two differences: operations that are equal in "
    "name, start and end are all counted, and times are whole nanoseconds. In SQL: sonde_top.\n";

}  // namespace

const Analysis& top_analysis() {
  static const Analysis kAnalysis{
      "top",
      "List GPU operations by time, most expensive first",
      "Adds up, by name, kernels, copies and everything else the devices did: the first look at a "
      "trace.",
      kDefinition,
      {{"sonde top trace.rpd", "the 25 names with the largest total"},
       {"sonde top trace.rpd --from 20% --to 40%", "the same for a part of the run"},
       {"sonde top trace.rpd --format csv > top.csv", "every name, in exact nanoseconds"},
       {"sonde top trace.rpd --sort calls --limit 5", "what ran most often"}},
      {},
      [](const Parameters&) { return trace::Request{.ops = true}; },
      run};
  return kAnalysis;
}

}  // namespace sonde::analysis
