// sonde occupancy: how many waves of each kernel fit on a SIMD.
#include "metrics/kernel_tables.h"

#include "cli/command.h"
#include "cli/common.h"

namespace sonde::cli {
namespace {

constexpr const char* kDefinition =
    "occupancy: how many waves of a kernel fit on a SIMD at a time, out of the most that the SIMD "
    "holds, from what the code object says a wave and a work group take. Nothing is measured: "
    "fewer waves are there if the launch is small, or if waves end before others start. A row is a "
    "kernel with the same registers, LDS and work group. LDS is that of the launch, including what "
    "it asks for at run time. Limited by is what one more wave would lack; if that is several, the "
    "first of VGPRs, SGPRs, work groups, LDS. Registers are allocated in units, so a few more or "
    "less may change nothing.\n\n"
    "Waves have 64 work items, on RDNA GPUs 32, and work groups there share a pair of compute "
    "units, as HIP compiles by default. An unknown GPU has no figures.\n";

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
