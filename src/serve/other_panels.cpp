#include "serve/other_panels.h"

#include <algorithm>
#include <utility>

#include "analysis/page/info.h"
#include "importers/import.h"
#include "metrics/advice.h"
#include "metrics/panels.h"
#include "metrics/roofline.h"
#include "metrics/sol/report.h"
#include "metrics/workload/choose.h"
#include "metrics/workload/trace.h"
#include "trace/file_info.h"

namespace sonde::serve {
namespace {

Result<bool> flag_of(Taken& taken, const char* name) {
  const auto value = taken.text(name);
  if (value && *value != "yes") return wrong_option(name, "a flag is 'yes'");
  return value.has_value();
}

Result<std::string> one_of(Taken& taken, const char* name, const std::vector<std::string>& values) {
  const std::string value = taken.text(name).value_or(values.front());
  if (std::find(values.begin(), values.end(), value) != values.end()) return value;
  return wrong_option(name, "'" + value + "' is not one of its values");
}

Result<report::Report> info_of(const Source& source, Taken& taken) {
  analysis::InfoOptions options;
  SONDE_ASSIGN(options.environment, flag_of(taken, "environment"));
  SONDE_TRY(taken.all_known());
  SONDE_ASSIGN(store::Reader reader, importers::open_trace(source.path, source.as));
  SONDE_ASSIGN(const trace::FileInfo info, trace::file_info(reader));
  return analysis::info_report(info, options);
}

// A workload of the kernels that are chosen.
struct Counted {
  metrics::Workload workload;
  metrics::Definitions definitions;
};

struct CountedChoice {
  metrics::DispatchChoice dispatches;
  std::string gpu_model;  // where the trace does not say
  trace::WindowText window;
};

Result<Counted> counted(const Source& source, const CountedChoice& choice) {
  SONDE_ASSIGN(metrics::Workload workload,
               metrics::workload_of_file(source.path, source.as, choice.gpu_model, choice.window));
  SONDE_ASSIGN(metrics::Definitions definitions, metrics::definitions_for(workload.gpu));
  SONDE_ASSIGN(workload, metrics::chosen_dispatches(choice.dispatches, std::move(workload)));
  return Counted{std::move(workload), std::move(definitions)};
}

Result<CountedChoice> dispatches_of(Taken& taken) {
  CountedChoice choice;
  if (const auto pattern = taken.text("kernel")) {
    SONDE_ASSIGN(choice.dispatches.kernels, trace::NameFilter::compile(*pattern));
  }
  SONDE_ASSIGN(choice.dispatches.gpu, taken.number("gpu"));
  choice.gpu_model = taken.text("gpu-model").value_or("");
  choice.window = window_of(taken);
  SONDE_TRY(trace::check_window(choice.window));
  return choice;
}

Result<report::Report> sol_of(const Source& source, Taken& taken) {
  metrics::SolOptions options;
  options.keep_empty = true;  // as in what is for programs
  SONDE_ASSIGN(options.per, one_of(taken, "per", {"kernel", "wave", "cycle", "second"}));
  SONDE_ASSIGN(options.all, flag_of(taken, "all"));
  if (const auto panel = taken.text("panel")) options.panels = {*panel};
  SONDE_ASSIGN(const CountedChoice choice, dispatches_of(taken));
  SONDE_TRY(taken.all_known());
  SONDE_ASSIGN(const Counted all, counted(source, choice));
  SONDE_ASSIGN(const auto tables, metrics::chosen_tables(all.definitions, options));
  return metrics::sol_report(all.definitions, all.workload, tables, options);
}

Result<report::Report> roofline_of(const Source& source, Taken& taken) {
  metrics::RooflineOptions options;
  const auto by = one_of(taken, "by", {"kernel", "dispatch"});
  if (!by) return by.error();
  options.by_dispatch = *by == "dispatch";
  options.type = taken.text("type").value_or("FP32");
  SONDE_ASSIGN(const CountedChoice choice, dispatches_of(taken));
  SONDE_TRY(taken.all_known());
  SONDE_ASSIGN(const Counted all, counted(source, choice));
  SONDE_ASSIGN(const metrics::Roofline roofline,
               metrics::roofline_of(all.definitions, all.workload, options));
  return metrics::roofline_report(roofline, all.workload, options);
}

}  // namespace

bool is_other_panel(const std::string& name) {
  return name == "info" || name == "sol" || name == "roofline";
}

Result<report::Report> other_report(const Source& source, const std::string& name, Taken& taken,
                                    Choice& choice) {
  SONDE_TRY(take_format(taken, choice));
  choice.sort = taken.text("sort");
  SONDE_ASSIGN(choice.limit, taken.number("limit"));
  if (name == "info") return info_of(source, taken);
  return name == "sol" ? sol_of(source, taken) : roofline_of(source, taken);
}

}  // namespace sonde::serve
