// sonde occupancy: how many waves of each kernel fit on a SIMD.
#include "metrics/kernel_tables.h"

#include "cli/command.h"
#include "cli/common.h"

namespace sonde::cli {
namespace {

constexpr const char* kDefinition =
    "occupancy: how many waves of a kernel fit on a SIMD at a time, of how many that it can hold of "
    "any kernel, from what the code object says that a wave and a work group take. Nothing is "
    "measured: fewer waves may be there when the launch is small, or when waves end before others "
    "start. A row is a kernel with the same registers, LDS and work group. LDS is that of the "
    "launch, what it asks for at run time included. Limited by is what the first wave too many "
    "would lack; of several that lack at once the first of VGPRs, SGPRs, work groups, LDS. "
    "Registers are given out in units, so a few more or less may not change a thing.\n\n"
    "Waves have 64 work items, on RDNA GPUs 32, and work groups there share a pair of compute "
    "units, as HIP compiles unless told otherwise. Figures of a GPU that nothing is known of are "
    "not available.\n";

Result<int> run(const Arguments& arguments) {
  const std::string path = arguments.positionals()[0];
  SONDE_ASSIGN(const trace::KernelFacts facts,
               trace::load_kernel_facts(path, trace::Launches::kAll));
  report::Report report;
  report.name = "occupancy";
  report.subject = path;
  report.definition = kDefinition;
  report.sections.push_back(metrics::occupancy_section(facts));
  return print_report(arguments, std::move(report));
}

constexpr const char* kText = R"(
occupancy - Show how many waves of each kernel fit on a SIMD, and what limits them

Works out the occupancy of each kernel from its registers, LDS and work group, without hardware
counters. If counters were recorded, sonde sol shows the measured occupancy.

Arguments:
FILE

Options:
--format --limit --sort --full-names --exact --table --explain

Examples:
sonde occupancy trace.rpd  most expensive kernels first
sonde occupancy results.csv --format csv  of counters of rocprof, for a spreadsheet
)";

}  // namespace

Command occupancy_command() { return make_command(kText, run, kDefinition); }

}  // namespace sonde::cli
