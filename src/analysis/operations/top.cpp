// Totals by name: `top` of all operations, `ktop` of kernels.
#include "analysis/analysis.h"
#include "analysis/operations/op_groups.h"

namespace sonde::analysis {
namespace {

report::Report totals(const trace::Trace& trace, const char* name, const std::vector<bool>& ops,
                      const char* none) {
  report::Report report = begin_report(name, trace);
  report.sections.push_back(
      {.key = name, .table = totals_table(group_ops(trace, {"name"}, ops)), .empty_text = none});
  return report;
}

Result<report::Report> run_top(const trace::Trace& trace, const Parameters&) {
  return totals(trace, "top", all_ops(trace), "No device operations.");
}

Result<report::Report> run_ktop(const trace::Trace& trace, const Parameters&) {
  return totals(trace, "ktop", kernels_of(trace), "No kernels.");
}

trace::Request needs(const Parameters&) { return {.ops = true}; }

constexpr const char* kDefinition =
    "top: one row for each name of a device operation. Name is the kernel's name, or the "
    "operation's type (CopyHostToDevice, FillBuffer ...) where it has no name. Calls counts the "
    "operations. Total is the sum of their durations (end - start), Mean is Total / Calls rounded "
    "down, Min and Max are the shortest and the longest. Share is Total in percent of the total of "
    "all rows. Operations that run at the same time each count in full, so Total can exceed the "
    "wall time; sonde busy does not count time twice.\n\n"
    "These are the figures of RPD's view `top`, with two differences: operations that are equal in "
    "name, start and end are all counted, and times are whole nanoseconds. In SQL: sonde_top.\n";

constexpr const char* kKernelsDefinition =
    "ktop: as top, for kernels only, by the time they ran on the device. A kernel is an operation "
    "of type KernelExecution, or one that carries a kernel's name and is not a copy, fill, map, "
    "migration, barrier or host function; so the kernels of graphs, which AMD records as type "
    "Task, are each counted under their own name. Share is in percent of the time of all "
    "kernels.\n\n"
    "RPD's old view `ktop` adds up the time of the launching calls on the CPU instead, which "
    "gives another order. In SQL: sonde_ktop.\n";

}  // namespace

Analysis top_analysis() {
  return {
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
      needs,
      run_top};
}

Analysis ktop_analysis() {
  return {"ktop",
          "List kernels by GPU time, most expensive first",
          "The same as sonde top, without copies and other operations that are not kernels.",
          kKernelsDefinition,
          {{"sonde ktop trace.rpd", "the 25 kernels with the largest total"},
           {"sonde ktop trace.rpd --kernel 'gemm|Cijk_' --full-names",
            "matrix products, with full "
            "names"}},
          {},
          needs,
          run_ktop};
}

}  // namespace sonde::analysis
