#include "metrics/workload/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/strings.h"
#include "metrics/csv_text.h"
#include "metrics/definitions.h"
#include "metrics/workload/long_table.h"

namespace sonde::metrics {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kPasses[] = {"SQ_IFETCH_LEVEL",    "SQ_INST_LEVEL_LDS",
                                   "SQ_INST_LEVEL_SMEM", "SQ_INST_LEVEL_VMEM",
                                   "SQ_LEVEL_WAVES",     "SQC_DCACHE_INFLIGHT_LEVEL"};

bool has_counters(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::is_regular_file(folder / "pmc_perf.csv", error);
}

// The folder with the files: `path`, or the only one of its sub-folders that has them.
Result<std::string> folder_of(const std::string& path) {
  if (has_counters(path)) return path;
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    if (has_counters(it->path())) found.push_back(it->path().string());
  }
  std::sort(found.begin(), found.end());
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return make_error(ErrorCode::kNotFound, "no pmc_perf.csv in this folder", path,
                      "give a folder that rocprof-compute profile wrote");
  }
  return make_error(ErrorCode::kInvalidArgument,
                    fmt::format("{} workloads in this folder", found.size()), path,
                    "give one of them: " + found[0]);
}

// Nanoseconds after `origin`, which the first time of a table becomes. Times with digits after the
// point are means over passes that were written from doubles, so they are read as such.
double time_of(std::string_view field, std::optional<int64_t>& origin) {
  field = trim(field);
  int64_t whole = 0;
  double fraction = 0;
  if (const auto integer = parse_int(field)) {
    whole = *integer;
  } else {
    const double number = number_of(field);
    if (!(std::abs(number) < 9e18)) return kNotKnown;
    whole = static_cast<int64_t>(number);
    fraction = number - static_cast<double>(whole);
  }
  if (!origin) origin = whole;
  int64_t difference = 0;
  if (__builtin_sub_overflow(whole, *origin, &difference)) return kNotKnown;
  return static_cast<double>(difference) + fraction;
}

bool is_time(std::string_view name) { return name == "Start_Timestamp" || name == "End_Timestamp"; }

struct WideTable {
  std::vector<std::string> kernels;
  std::vector<int64_t> dispatches, gpus;
  CounterTable counters;
};

std::vector<size_t> wanted_columns(const CsvText& csv, const Names& wanted) {
  std::vector<size_t> columns;
  Names seen;
  for (size_t i = 0; i < csv.header().size(); ++i) {
    const std::string& name = csv.header()[i];
    const std::string_view base = std::string_view(name).substr(0, name.find('['));
    if ((is_time(name) || wanted.count(base) != 0) && seen.insert(name).second)
      columns.push_back(i);
  }
  return columns;
}

WideTable read_wide(CsvText& csv, const Names& wanted) {
  const std::vector<size_t> columns = wanted_columns(csv, wanted);
  std::vector<std::vector<double>> values(columns.size());
  const size_t kernel = csv.column("Kernel_Name");
  const size_t dispatch = csv.column("Dispatch_ID");
  const size_t gpu = csv.column("GPU_ID");
  const auto integer = [&](size_t column, int64_t fallback) {
    if (column == std::string::npos) return fallback;
    const double number = number_of(csv.field(column));
    return std::abs(number) < 1e15 ? static_cast<int64_t>(number) : fallback;
  };
  WideTable table;
  std::optional<int64_t> origin;
  while (csv.next()) {
    table.kernels.push_back(kernel == std::string::npos ? "" : unquoted(csv.field(kernel)));
    table.dispatches.push_back(integer(dispatch, static_cast<int64_t>(table.dispatches.size())));
    table.gpus.push_back(integer(gpu, 0));
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string_view field = csv.field(columns[i]);
      values[i].push_back(is_time(csv.header()[columns[i]]) ? time_of(field, origin)
                                                            : number_of(field));
    }
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    table.counters.columns[csv.header()[columns[i]]] =
        std::make_shared<const std::vector<double>>(std::move(values[i]));
  }
  return table;
}

void warn_of_skipped(const CsvText& csv, const std::string& path, Workload& workload) {
  if (csv.skipped() == 0) return;
  workload.warnings.push_back(
      fmt::format("{}: {} rows have another number of fields than the "
                  "header and were skipped",
                  path, csv.skipped()));
}

// The pass beside the main table, by the number of the row; what is longer than the other is cut.
Status read_pass(const char* name, const Names& wanted, Workload& workload) {
  const std::string path = workload.path + "/" + name + ".csv";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return ok_status();
  SONDE_ASSIGN(const std::string text, read_text_file(path));
  CsvText csv(text);
  WideTable table = read_wide(csv, wanted);
  warn_of_skipped(csv, path, workload);
  const size_t rows = table.kernels.size();
  workload.passes[name] = std::move(table.counters);
  if (rows == workload.rows()) return ok_status();
  workload.warnings.push_back(
      fmt::format("{}: {} dispatches where pmc_perf.csv has {}; the first {} are compared", path,
                  rows, workload.rows(), std::min(rows, workload.rows())));
  const size_t kept = std::min(rows, workload.rows());
  for (auto* counters : {&workload.passes[name]}) {
    for (auto& [key, column] : counters->columns) {
      std::vector<double> cut(column->begin(), column->begin() + static_cast<ptrdiff_t>(kept));
      column = std::make_shared<const std::vector<double>>(std::move(cut));
    }
  }
  if (rows > kept) return ok_status();
  std::vector<bool> keep(workload.rows(), false);
  std::fill(keep.begin(), keep.begin() + static_cast<ptrdiff_t>(kept), true);
  workload = only_rows(workload, keep);
  return ok_status();
}

// Each pass is a run of its own. Where the busy cycles of one dispatch differ much between them,
// its counters do not fit together.
void warn_of_spread(Workload& workload) {
  const Column* main = workload.main.find("GRBM_GUI_ACTIVE");
  if (main == nullptr) return;
  double most = 0;
  for (const auto& [name, table] : workload.passes) {
    const Column* other = table.find("GRBM_GUI_ACTIVE");
    for (size_t i = 0; other != nullptr && i < (*other)->size() && i < (*main)->size(); ++i) {
      const double a = (**main)[i], b = (**other)[i];
      if (a > 0 && b > 0) most = std::max(most, std::abs(a - b) / std::min(a, b));
    }
  }
  if (most > 0.1) {
    workload.warnings.push_back(fmt::format(
        "the passes disagree: GRBM_GUI_ACTIVE of one dispatch differs by up to {:.0f} % between "
        "them, so figures from counters of several passes are rough",
        100 * most));
  }
}

// Where there is one.
Status read_own_roofs(Workload& workload) {
  const std::string path = workload.path + "/roofline.csv";
  std::error_code error;
  return std::filesystem::exists(path, error) ? read_roofs(path, workload) : ok_status();
}

}  // namespace

Status read_roofs(const std::string& path, Workload& workload) {
  workload.roofs.clear();
  SONDE_ASSIGN(const std::string text, read_text_file(path));
  CsvText csv(text);
  while (csv.next()) {
    Roofs roofs;
    for (size_t i = 0; i < csv.header().size(); ++i) {
      const double number = number_of(csv.field(i));
      if (number > 0) roofs[csv.header()[i]] = number;
    }
    workload.roofs.push_back(std::move(roofs));
  }
  warn_of_skipped(csv, path, workload);
  return ok_status();
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

Result<Workload> open_workload_folder(const std::string& path) {
  Workload workload;
  SONDE_ASSIGN(workload.path, folder_of(path));
  const std::string place = workload.path + "/sysinfo.csv";
  SONDE_ASSIGN(const std::string text, read_text_file(place));
  CsvText csv(text);
  if (!csv.next()) return make_error(ErrorCode::kBadData, "has no row of facts", place);
  for (size_t i = 0; i < csv.header().size(); ++i) {
    const std::string& name = csv.header()[i];
    const double number = number_of(csv.field(i));
    if (is_gpu_fact(name) && !std::isnan(number)) workload.facts[name] = number;
    if (name == "gpu_arch") workload.gpu = unquoted(csv.field(i));
    if (name == "gpu_model") workload.model = unquoted(csv.field(i));
    if (name == "sonde_counted_by") workload.on_softgpu = unquoted(csv.field(i)) == "software";
  }
  if (workload.gpu.empty()) {
    return make_error(ErrorCode::kBadData, "does not say the kind of GPU (gpu_arch)", place);
  }
  return workload;
}

Status read_counters(const Names& wanted, Workload& workload) {
  const std::string path = workload.path + "/pmc_perf.csv";
  SONDE_ASSIGN(const std::string text, read_text_file(path));
  CsvText csv(text);
  const bool is_long = csv.column("Counter_Name") != std::string::npos;
  if (csv.column("Kernel_Name") == std::string::npos) {
    return make_error(ErrorCode::kBadData, "has no column Kernel_Name", path);
  }
  if (is_long) {
    SONDE_TRY(read_long(csv, wanted, workload));
  } else {
    WideTable table = read_wide(csv, wanted);
    workload.kernels = std::move(table.kernels);
    workload.dispatches = std::move(table.dispatches);
    workload.gpus = std::move(table.gpus);
    workload.main = std::move(table.counters);
  }
  warn_of_skipped(csv, path, workload);
  if (workload.rows() == 0) {
    const std::string what =
        csv.skipped() == 0
            ? std::string("has no dispatch")
            : fmt::format("has no whole row: {} have another number of fields than the header",
                          csv.skipped());
    return make_error(ErrorCode::kBadData, what, path);
  }
  for (const char* pass : kPasses) SONDE_TRY(read_pass(pass, wanted, workload));
  warn_of_spread(workload);
  return read_own_roofs(workload);
}

}  // namespace sonde::metrics
