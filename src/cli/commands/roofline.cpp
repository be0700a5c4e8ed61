#include "metrics/roofline.h"

#include <fmt/ranges.h>

#include "cli/common.h"
#include "cli/workload_options.h"
#include "metrics/panels.h"

namespace sonde::cli {
namespace {

constexpr const char* kDefinition =
    "roofline: how fast kernels compute, against the GPU's peaks. Work is 64 lanes for each vector "
    "instruction of floating point, an FMA as two, and 512 for each unit in which matrix "
    "instructions are counted. FLOP/B is work divided by the bytes that went through a level of "
    "memory: requests to it times the bytes of each. GFLOP/s is the mean work of a dispatch "
    "divided by its mean time. Time is the share of the kernel in the time of all dispatches. "
    "Lowest roof is the minimum of the rates that the bandwidths of all levels allow at this "
    "intensity and of the compute roofs of --type, and Of roof is GFLOP/s divided by it.\n\n"
    "Roofs are measured where the workload has them (a roofline.csv, or what sonde profile put "
    "into the trace from sonde roofs), and theoretical otherwise: from the highest clocks of the "
    "GPU. Source says which; those of a software GPU are what its model allows.\n\n"
    "Counters are of whole dispatches: one of which only a part is in the window counts as a "
    "whole.\n";

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(metrics::Workload workload, open_workload(arguments, arguments.positionals()[0]));
  SONDE_ASSIGN(const metrics::Definitions definitions, metrics::definitions_for(workload.gpu));
  SONDE_TRY(read_chosen(arguments, metrics::wanted_names(definitions, {}), workload));
  if (const auto file = arguments.value("roofs")) {
    SONDE_TRY(metrics::read_roofs(*file, workload));
  }
  metrics::RooflineOptions options;
  options.by_dispatch = arguments.value_or("by", "kernel") == "dispatch";
  options.type = arguments.value_or("type", "FP32");
  SONDE_ASSIGN(const auto device, whole_number(arguments, "device"));
  options.device = static_cast<size_t>(device.value_or(0));
  SONDE_ASSIGN(auto roofline, metrics::roofline_of(definitions, workload, options));
  report::Report report = metrics::roofline_report(roofline, workload, options);
  report.definition = kDefinition;
  return print_report(arguments, std::move(report));
}

constexpr const char* kText = R"(
roofline - Show kernels under the roofline of the GPU, from hardware counters

Places each kernel under the roofline of its GPU: FLOP per byte at every level of memory, GFLOP/s,
and the lowest roof at that intensity. The html format has the picture.

Arguments:
WORKLOAD  a folder of rocprof-compute, or a trace with counters

Options:
--by WHAT=kernel|dispatch  what a row is [kernel]
--type TYPE={}  whose compute roofs count [FP32]
--device N  GPU, or row of roofline.csv, with the measured roofs [0]
--roofs FILE  take the measured roofs from this roofline.csv [that of WORKLOAD]
--kernel --dispatch --gpu --gpu-model
--from --to --window
--format --limit --sort --full-names --exact --table --explain

Examples:
sonde roofline workloads/vcopy  each kernel under its roofs
sonde roofline workloads/vcopy --type FP64 --by dispatch --format csv
    each dispatch, for a spreadsheet
sonde roofline profile.rpd --window step:2  the kernels that ran in the second step
)";

}  // namespace

Command roofline_command() {
  return make_command(fmt::format(kText, fmt::join(metrics::roofline_types(), "|")), run,
                      kDefinition, workload_options());
}

}  // namespace sonde::cli
