#include "analysis/analysis.h"
#include "analysis/operations/op_groups.h"

namespace sonde::analysis {
namespace {

Result<report::Report> run(const trace::Trace& trace, const Parameters&) {
  report::Report report = begin_report("ktop", trace);
  report::Section section;
  section.key = "ktop";
  section.empty_text = "No kernels.";
  section.table = totals_table(group_ops(trace, {"name"}, kernels_of(trace)));
  report.sections.push_back(std::move(section));
  return report;
}

constexpr const char* kDefinition =
    "ktop: as top, for kernels only, by the time they ran on the device. A kernel is an operation "
    "of type KernelExecution, or one that carries a kernel's name and is not a copy, fill, map, "
    "migration, barrier or host function; so the kernels of graphs, which AMD records as type "
    "Task, are each counted under their own name. Share is in percent of the time of all "
    "kernels.\n\n"
    "RPD's old view `ktop` adds up the time of the launching calls on the CPU instead, which "
    "gives another order. In SQL: sonde_ktop.\n";

}  // namespace

const Analysis& ktop_analysis() {
  static const Analysis kAnalysis{
      "ktop",
      "List kernels by GPU time, most expensive first",
      "The same as sonde top, without copies and other operations that are not kernels.",
      kDefinition,
      {{"sonde ktop trace.rpd", "the 25 kernels with the largest total"},
       {"sonde ktop trace.rpd --kernel 'gemm|Cijk_' --full-names",
        "matrix products, with full "
        "names"}},
      {},
      [](const Parameters&) { return trace::Request{.ops = true}; },
      run};
  return kAnalysis;
}

}  // namespace sonde::analysis
