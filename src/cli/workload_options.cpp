#include "cli/workload_options.h"

#include <utility>

#include "base/strings.h"
#include "cli/command_text.h"
#include "cli/common.h"
#include "metrics/workload/choose.h"
#include "metrics/workload/trace.h"
#include "trace/name_filter.h"

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
  metrics::DispatchChoice choice;
  if (const auto pattern = arguments.value("kernel")) {
    SONDE_ASSIGN(choice.kernels, trace::NameFilter::compile(*pattern));
  }
  SONDE_ASSIGN(choice.gpu, whole_number(arguments, "gpu"));
  if (const auto text = arguments.value("dispatch")) {
    SONDE_ASSIGN(choice.dispatches, dispatch_ranges(*text));
  }
  return metrics::chosen_dispatches(choice, std::move(workload));
}

}  // namespace

std::vector<Option> workload_options() {
  return read_options(R"(
--kernel REGEX  only kernels in whose name this extended regular expression is found [all]
--dispatch LIST  only these dispatches, as the file numbers them: 0,4:7 [all]
--gpu N  only this GPU, as the file numbers it [all]
--gpu-model NAME  the GPU of a trace that does not name it: MI210 [as the trace says]
)");
}

Result<Workload> open_workload(const Arguments& arguments, const std::string& path) {
  const trace::WindowText window = window_text(arguments);
  SONDE_TRY(trace::check_window(window));
  if (!metrics::is_folder(path)) {
    return metrics::workload_of_file(path, "", arguments.value_or("gpu-model", ""), window);
  }
  if (window.given()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a rocprof-compute folder has no times, so no window", path,
                      "--dispatch chooses dispatches of it");
  }
  return metrics::open_workload_folder(path);
}

Status read_chosen(const Arguments& arguments, const metrics::Names& wanted, Workload& workload) {
  if (workload.rows() == 0) SONDE_TRY(metrics::read_counters(wanted, workload));
  SONDE_ASSIGN(workload, filtered(arguments, std::move(workload)));
  return ok_status();
}

}  // namespace sonde::cli
