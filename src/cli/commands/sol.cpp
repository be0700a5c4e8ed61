#include "metrics/sol/report.h"

#include <filesystem>
#include <system_error>

#include "cli/common.h"
#include "cli/workload_options.h"
#include "metrics/advice.h"
#include "metrics/roofline.h"
#include "report/render.h"

namespace sonde::cli {
namespace {

using metrics::Definitions;
using metrics::Workload;

constexpr const char* kDefinition =
    "sol: metrics from the hardware counters of kernels, as fractions of the GPU's peak where "
    "there is one. Each metric is a formula of counters that is computed for each dispatch; Avg, "
    "Min, Max and the others are over the dispatches, each counting equally, however long it was. "
    "Peak is what the GPU can do at its highest clock, and Of peak is Avg divided by it. A figure "
    "is not available where a counter was not read, where the file has no time, or where a divisor "
    "is zero.\n\n"
    "--per divides counts by the number of wavefronts, by cycles in which the GPU was busy or by "
    "seconds of each dispatch; per kernel they are counts of a dispatch. Rates and percentages are "
    "the same for all.\n\n"
    "Counters are read in several runs of the program where they do not all fit into one, so "
    "figures that combine counters of different passes hold only if the runs were alike; a note "
    "says so if busy cycles differ by more than a tenth between passes.\n\n"
    "What bounds the hot kernels is given for the five most expensive ones, from their own "
    "dispatches. A launch is too small if it has fewer waves than the GPU has SIMDs. Otherwise the "
    "bound is whichever of memory, L2, L1, LDS, vector and matrix instructions is nearest to its "
    "peak, if it reaches 60 % of it or more, and latency if none does. Reads and writes of memory "
    "are added up. Waves that fit on a SIMD follow from registers, LDS and work group alone.\n\n"
    "Counters are of whole dispatches: one of which only a part is in the window counts as a "
    "whole.\n";

metrics::SolOptions options_of(const Arguments& arguments) {
  metrics::SolOptions options;
  options.per = arguments.value_or("per", "kernel");
  options.panels = arguments.values("panel");
  options.all = arguments.flag("all");
  options.with_pictures = arguments.value_or("format", "text") == "html";
  options.keep_empty = !report::find_renderer(arguments.value_or("format", "text"))->for_people;
  return options;
}

// The METRIC of --explain stands behind the workload, like a second workload: what is not a path is
// a metric.
bool is_metric(const Arguments& arguments, const std::string& text) {
  std::error_code error;
  return arguments.flag("explain") && !std::filesystem::exists(text, error);
}

Result<int> explain(const Arguments& arguments, const std::string& path,
                    const std::string& metric) {
  SONDE_ASSIGN(Workload workload, open_workload(arguments, path));
  SONDE_ASSIGN(const Definitions definitions, metrics::definitions_for(workload.gpu));
  std::vector<const metrics::MetricTable*> tables;
  for (const metrics::MetricTable& table : definitions.tables) tables.push_back(&table);
  SONDE_TRY(read_chosen(arguments, metrics::wanted_names(definitions, tables), workload));
  SONDE_ASSIGN(report::Report report,
               metrics::explain_metric(definitions, workload, metric, options_of(arguments)));
  return print_report(arguments, std::move(report), 0);
}

// A page has the roofline, too, unless something else was asked for.
Status add_roofline(const Definitions& definitions, const Workload& workload,
                    const metrics::SolOptions& options, report::Report& report) {
  if (!options.with_pictures || !options.panels.empty()) return ok_status();
  metrics::RooflineOptions of_roofline;
  of_roofline.title = "Roofline";
  SONDE_ASSIGN(const metrics::Roofline roofline,
               metrics::roofline_of(definitions, workload, of_roofline));
  report::Report picture = metrics::roofline_report(roofline, workload, of_roofline);
  for (report::Section& section : picture.sections) report.sections.push_back(std::move(section));
  return ok_status();
}

Result<int> run(const Arguments& arguments) {
  std::vector<std::string> paths = arguments.positionals();
  if (paths.size() == 2 && is_metric(arguments, paths[1])) {
    return explain(arguments, paths[0], paths[1]);
  }
  const metrics::SolOptions options = options_of(arguments);
  std::vector<Workload> workloads;
  std::vector<Definitions> definitions;
  std::vector<std::vector<const metrics::MetricTable*>> tables;
  definitions.reserve(paths.size());  // tables point into them
  for (const std::string& path : paths) {
    SONDE_ASSIGN(Workload workload, open_workload(arguments, path));
    SONDE_ASSIGN(Definitions of_gpu, metrics::definitions_for(workload.gpu));
    definitions.push_back(std::move(of_gpu));
    SONDE_ASSIGN(auto chosen, metrics::chosen_tables(definitions.back(), options));
    metrics::Names wanted = metrics::wanted_names(definitions.back(), chosen);
    wanted.merge(metrics::advice_names(definitions.back()));
    SONDE_TRY(read_chosen(arguments, wanted, workload));
    tables.push_back(std::move(chosen));
    workloads.push_back(std::move(workload));
  }
  report::Report report =
      workloads.size() == 1 ? metrics::sol_report(definitions[0], workloads[0], tables[0], options)
                            : metrics::sol_comparison(definitions, workloads, tables[0], options);
  if (workloads.size() == 1) {
    SONDE_TRY(add_roofline(definitions[0], workloads[0], options, report));
  }
  report.definition = kDefinition;
  return print_report(arguments, std::move(report), 0);
}

constexpr const char* kText = R"(
sol - Show kernel metrics from hardware counters: Speed-of-Light and panels

Computes metrics from the hardware counters of kernels and compares them with the GPU's peaks.

WORKLOAD is a folder that rocprof-compute or omniperf profile wrote, or a trace that has counters of
kernels: an .rpd, or a file of rocprof, rocprofv3 or rocpd. Nothing in it is changed. --explain
followed by the id or name of a metric explains only that metric, with the values that went into it.

Arguments:
WORKLOAD...  folders of rocprof-compute or traces with counters; the first is what the others are
    compared with

Options:
--all  all panels, not only Speed-of-Light
--panel ID...  this panel or table: 2, 16.3 [Speed-of-Light]
--per WHAT=kernel|wave|cycle|second  what counts are divided by [kernel]
--kernel --dispatch --gpu --gpu-model
--from --to --window
--format
--limit  [all]
--sort --full-names --exact --table --explain

Examples:
sonde sol workloads/vcopy  Speed-of-Light
sonde sol workloads/vcopy --all --per wave --format json
    everything, counts by wavefront, for a script
sonde sol workloads/vcopy --panel 3  the memory chart, as text
sonde sol workloads/vcopy --format html > sol.html  a page with bars, memory chart and roofline
sonde sol workloads/before workloads/after  what changed, metric by metric
sonde sol workloads/vcopy --explain 2.1.20
    what a metric means, its formula, and the counters that went into it
)";

}  // namespace

Command sol_command() { return make_command(kText, run, kDefinition, workload_options()); }

}  // namespace sonde::cli
