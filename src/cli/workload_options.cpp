#include "cli/workload_options.h"

#include <algorithm>

#include "base/strings.h"
#include "cli/common.h"
#include "metrics/workload/trace.h"
#include "trace/name_filter.h"
#include "trace/other_tools.h"

namespace sonde::cli {
namespace {

using metrics::Workload;

}  // namespace

Result<std::vector<std::pair<int64_t, int64_t>>> dispatch_ranges(const std::string& text) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const std::string_view part : split(text, ',')) {
    const size_t colon = part.find(':');
    const auto first = parse_int(trim(part.substr(0, colon)));
    const auto last = colon == part.npos ? first : parse_int(trim(part.substr(colon + 1)));
    if (!first || !last || *first < 0 || *last < *first) {
      return make_error(ErrorCode::kInvalidArgument,
                        "'" + std::string(part) + "' is not a dispatch", "--dispatch",
                        "numbers and ranges: 0,4:7");
    }
    ranges.emplace_back(*first, *last);
  }
  return ranges;
}

namespace {

// The dispatches that --kernel, --dispatch and --gpu choose.
Result<Workload> filtered(const Arguments& arguments, Workload workload) {
  trace::NameFilter names;
  if (const auto pattern = arguments.value("kernel")) {
    SONDE_ASSIGN(names, trace::NameFilter::compile(*pattern));
  }
  SONDE_ASSIGN(const auto gpu, whole_number(arguments, "gpu"));
  std::vector<std::pair<int64_t, int64_t>> ranges;
  if (const auto text = arguments.value("dispatch")) {
    SONDE_ASSIGN(ranges, dispatch_ranges(*text));
  }
  if (names.wants_all() && !gpu && ranges.empty()) return workload;
  std::vector<bool> keep(workload.rows());
  for (size_t i = 0; i < workload.rows(); ++i) {
    const int64_t number = workload.dispatches[i];
    const bool in_range = ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](auto& r) {
                            return r.first <= number && number <= r.second;
                          });
    keep[i] = in_range && names.wants(workload.kernels[i]) && (!gpu || workload.gpus[i] == *gpu);
  }
  if (std::find(keep.begin(), keep.end(), true) == keep.end()) {
    return make_error(ErrorCode::kNotFound, "no dispatch matches the filters", workload.path);
  }
  return only_rows(workload, keep);
}

}  // namespace

std::vector<Option> workload_options() {
  return {{"--kernel", "REGEX",
           "only kernels in whose name this extended regular expression is found", ""},
          {"--dispatch", "LIST", "only these dispatches, as the file numbers them: 0,4:7", ""},
          {"--gpu", "N", "only this GPU, as the file numbers it", ""},
          {"--gpu-model", "NAME", "which GPU a trace is of, where it does not say: MI210", ""}};
}

Result<Workload> open_workload(const Arguments& arguments, const std::string& path) {
  if (metrics::is_folder(path)) return metrics::open_workload_folder(path);
  SONDE_ASSIGN(const trace::Trace trace,
               trace::load_file(path, "", metrics::workload_request(), {}));
  return metrics::workload_of(trace, arguments.value_or("gpu-model", ""));
}

Status read_chosen(const Arguments& arguments, const metrics::Names& wanted, Workload& workload) {
  if (workload.rows() == 0) SONDE_TRY(metrics::read_counters(wanted, workload));
  SONDE_ASSIGN(workload, filtered(arguments, std::move(workload)));
  return ok_status();
}

}  // namespace sonde::cli
