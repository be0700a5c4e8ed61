#include "cli/roofs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/host_name.h"
#include "base/temporary_directory.h"
#include "measure/roofs.h"
#include "metrics/collect/catalogue.h"
#include "metrics/collect/plan.h"
#include "metrics/csv_text.h"
#include "record/child.h"
#include "record/record.h"
#include "store/each_row.h"

namespace sonde::cli {
namespace {

constexpr const char* kLaunches =
    "SELECT o.gpuId, s.string, o.\"end\" - o.start, (SELECT max(d.compute_units) FROM sonde_device "
    "d WHERE d.gpu_id = o.gpuId), EXISTS (SELECT 1 FROM sonde_op_counter c WHERE c.op_id = o.id) "
    "FROM rocpd_op o JOIN rocpd_string s ON s.id = o.description_id WHERE s.string LIKE "
    "'sonde^_roof^_%' ESCAPE '^' ORDER BY o.start";

// A software GPU's times are those of a model while it counts; any counter will do.
Result<std::string> counter_request() {
  SONDE_ASSIGN(const metrics::Catalogue catalogue, metrics::counter_catalogue());
  metrics::PlanOptions options;
  options.gpus = {"gfx90a", "gfx908", "gfx906", "gfx900"};
  options.softgpu = true;
  const metrics::Plan plan = metrics::plan_passes(catalogue, {"SQ_WAVES"}, options);
  return metrics::request_of(plan, 1);
}

struct Times {
  double sum = 0, least = 0, most = 0;
  int64_t count = 0;
};

void add_values(const measure::Roof& roof, double work, const Times& times, GpuRoofs& gpu) {
  if (times.count == 0 || times.least <= 0) return;
  const std::string column = roof.column;  // GB/s, GFLOP/s: by nanosecond
  gpu.values[column] = work / (times.sum / static_cast<double>(times.count));
  gpu.values[column + "Low"] = work / times.most;
  gpu.values[column + "High"] = work / times.least;
}

// The launches of a kernel on a GPU; on a card without the first.
Status read_times(const std::string& trace, std::vector<GpuRoofs>& gpus) {
  SONDE_ASSIGN(auto database, store::Database::open(trace, store::Database::Mode::kReadOnly));
  std::map<std::pair<int64_t, std::string>, Times> times;
  std::map<int64_t, int64_t> units;
  SONDE_TRY(store::each_row(database, kLaunches, [&](const store::Statement& rows) {
    const bool is_counted = rows.integer(4) != 0;
    const auto gpu = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const GpuRoofs& one) { return one.gpu == rows.integer(0); });
    if (gpu == gpus.end() || (gpu->by_software && !is_counted)) return;
    units[gpu->gpu] = rows.integer(3);
    const auto [entry, is_first] =
        times.try_emplace({rows.integer(0), std::string(rows.text(1))}, Times{});
    if (is_first && !gpu->by_software) return;
    Times& all = entry->second;
    const auto ns = static_cast<double>(rows.integer(2));
    all.least = all.count == 0 ? ns : std::min(all.least, ns);
    all.most = std::max(all.most, ns);
    all.sum += ns;
    ++all.count;
  }));
  for (GpuRoofs& gpu : gpus) {
    for (const measure::Roof& roof : measure::all_roofs()) {
      const auto found = times.find({gpu.gpu, roof.kernel});
      if (found == times.end()) continue;
      const double work = roof.work(static_cast<unsigned>(units[gpu.gpu]), gpu.by_software);
      add_values(roof, work, found->second, gpu);
    }
  }
  return ok_status();
}

std::string file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    name += plain ? c : '_';
  }
  return name;
}

std::string cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/sonde/roofs";
  const char* home = std::getenv("HOME");
  return home == nullptr || *home != '/' ? "" : std::string(home) + "/.cache/sonde/roofs";
}

}  // namespace

Result<std::vector<GpuRoofs>> gpus_of_trace(const std::string& trace) {
  SONDE_ASSIGN(auto database, store::Database::open(trace, store::Database::Mode::kReadOnly));
  SONDE_ASSIGN(const int64_t software,
               database.integer("SELECT count(*) FROM sonde_note WHERE key = 'counters.software'"));
  std::vector<GpuRoofs> gpus;
  SONDE_TRY(store::each_row(
      database,
      "SELECT d.gpu_id, max(d.name), max(d.location) FROM sonde_device d WHERE d.gpu_id IN "
      "(SELECT gpuId FROM rocpd_op) GROUP BY d.gpu_id ORDER BY 1",
      [&](const store::Statement& rows) {
        gpus.push_back({rows.integer(0),
                        std::string(rows.text(1)),
                        std::string(rows.text(2)),
                        software != 0,
                        {}});
      }));
  return gpus;
}

Result<std::vector<GpuRoofs>> measure_roofs(const std::vector<std::string>& launcher) {
  SONDE_ASSIGN(const TemporaryDirectory folder, TemporaryDirectory::create());
  const bool on_softgpu = !launcher.empty() || std::getenv("SOFTGPU_TREE") != nullptr;
  std::error_code error;
  record::Options options;
  options.output = folder.path() + "/roofs.rpd";
  options.quiet = true;
  options.sample_hz = 0;
  options.backends = {"hsa", "hip"};
  options.command = launcher;
  options.command.push_back(std::filesystem::read_symlink("/proc/self/exe", error).string());
  options.command.insert(options.command.end(), {"roofs", "--only-launch"});
  if (on_softgpu) {
    SONDE_ASSIGN(const std::string request, counter_request());
    options.environment.push_back("SONDE_COUNTERS=" + request);
  }
  SONDE_ASSIGN(const record::Outcome outcome, record::run(options));
  if (outcome.exit_status != 0 || outcome.signal != 0 || outcome.path.empty()) {
    return make_error(ErrorCode::kUnsupported, "the roofs could not be measured", "",
                      "sonde doctor says what is missing");
  }
  SONDE_ASSIGN(std::vector<GpuRoofs> gpus, gpus_of_trace(outcome.path));
  SONDE_TRY(read_times(outcome.path, gpus));
  return gpus;
}

std::string roofs_file(const GpuRoofs& gpu) {
  const std::string folder = cache_folder();
  if (folder.empty()) return "";
  return fmt::format("{}/{}.csv", folder,
                     file_name(fmt::format("{}-{}-{}{}", host_name(), gpu.name, gpu.location,
                                           gpu.by_software ? "-software" : "")));
}

Status keep_roofs(const std::vector<GpuRoofs>& gpus) {
  for (const GpuRoofs& gpu : gpus) {
    const std::string path = roofs_file(gpu);
    if (path.empty() || gpu.values.empty()) continue;
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    // Whoever reads it meanwhile has the old one.
    const std::string made = fmt::format("{}.{}", path, ::getpid());
    std::ofstream file(made);
    file << roofline_csv({gpu});
    file.close();
    if (file) std::filesystem::rename(made, path, error);
    if (!file || error) {
      std::filesystem::remove(made, error);
      return make_error(ErrorCode::kIo, "cannot be written", path,
                        "XDG_CACHE_HOME names another "
                        "folder");
    }
  }
  return ok_status();
}

bool find_kept_roofs(GpuRoofs& gpu) {
  const std::string path = roofs_file(gpu);
  if (path.empty()) return false;
  const auto text = metrics::read_text_file(path);
  if (!text.ok()) return false;
  metrics::CsvText csv(*text);
  if (!csv.next()) return false;
  for (size_t i = 1; i < csv.header().size(); ++i) {
    const double value = metrics::number_of(csv.field(i));
    if (value > 0) gpu.values[csv.header()[i]] = value;
  }
  return !gpu.values.empty();
}

std::string roofline_csv(const std::vector<GpuRoofs>& gpus) {
  std::map<std::string, double> all;
  for (const GpuRoofs& gpu : gpus) all.insert(gpu.values.begin(), gpu.values.end());
  std::string text = "device";
  for (const auto& [column, value] : all) text += "," + column;
  for (const GpuRoofs& gpu : gpus) {
    text += fmt::format("\n{}", gpu.gpu);
    for (const auto& [column, any] : all) {
      const auto found = gpu.values.find(column);
      text += found == gpu.values.end() ? "," : fmt::format(",{}", found->second);
    }
  }
  return text + "\n";
}

}  // namespace sonde::cli
