// sonde roofs: what the GPUs here can do at most, measured.
#include "cli/roofs.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "cli/command.h"
#include "cli/common.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "measure/roofs.h"
#include "record/command.h"

namespace sonde::cli {
namespace {

using namespace report::columns;

constexpr const char* kDefinition =
    "roofs: for each level of memory the bytes per second, and for each type the operations per "
    "second, that kernels reach which do nothing else. Value is the work of a launch divided by "
    "the mean time of all launches but the first, Low and High are divided by the longest and the "
    "shortest time. HBM reads 1 GiB once; L2 reads 2 MiB that all groups share, again and again, "
    "L1 8 KiB, LDS 16 KiB of a group. Operations are multiply-adds, as two, in eight chains a lane "
    "(of I8 products of four bytes and their sum, in one instruction), and matrix instructions in "
    "four chains a wave. On a software GPU the kernels are smaller and their times are those of "
    "its model, so the figures say what the model allows, not what a card does.\n";

const char* unit_of(const measure::Roof& roof) {
  if (roof.is_bandwidth) return "GB/s";
  return std::string_view(roof.column).substr(std::string_view(roof.column).size() - 3) == "Ops"
             ? "GIOP/s"
             : "GFLOP/s";
}

report::Report report_of(const std::vector<GpuRoofs>& gpus) {
  report::Report report;
  report.name = "roofs";
  report.subject = "this machine";
  report.definition = kDefinition;
  report::Section section{.key = "roofs", .empty_text = "No GPU here has roofs."};
  section.table.add_columns({integer("gpu", "GPU"), text("name", "Name"), text("roof", "Roof"),
                             real("value", "Value"), real("low", "Low"), real("high", "High"),
                             text("unit", "Unit"), text("source", "Source")});
  for (const GpuRoofs& gpu : gpus) {
    for (const measure::Roof& roof : measure::all_roofs()) {
      const auto value = gpu.values.find(roof.column);
      if (value == gpu.values.end()) continue;
      const auto bound = [&](const char* which) {
        const auto found = gpu.values.find(std::string(roof.column) + which);
        return found == gpu.values.end() ? report::Value() : report::Value(found->second);
      };
      const std::string column = roof.column;
      const bool is_double = roof.kernel == std::string("sonde_roof_mfma_i8_long");
      if (is_double && !section.table.rows.empty() &&
          std::get<std::string>(section.table.rows.back()[2]) == column) {
        continue;  // the same column of another kernel
      }
      section.table.add_row({gpu.gpu, gpu.name, column, value->second, bound("Low"), bound("High"),
                             unit_of(roof), gpu.by_software ? "software GPU" : "measured"});
    }
  }
  report.sections.push_back(std::move(section));
  return report;
}

Result<std::vector<std::string>> launcher_of(const Arguments& arguments) {
  if (!arguments.flag("softgpu")) return std::vector<std::string>();
  SONDE_ASSIGN(const std::string launcher, softgpu_launcher());
  return std::vector<std::string>{launcher, "--"};
}

Status write_csv(const std::string& path, const std::vector<GpuRoofs>& gpus) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return make_error(ErrorCode::kIo, "already exists", path, "give a new file");
  }
  std::ofstream file(path);
  file << roofline_csv(gpus);
  file.close();
  if (file) return ok_status();
  return make_error(ErrorCode::kIo, "cannot be written", path);
}

Result<int> run(const Arguments& arguments) {
  if (arguments.flag("only-launch")) {
    SONDE_TRY(measure::launch_roofs(std::getenv("SOFTGPU_TREE") != nullptr));
    return 0;
  }
  SONDE_ASSIGN(const std::vector<std::string> launcher, launcher_of(arguments));
  SONDE_ASSIGN(const std::vector<GpuRoofs> gpus, measure_roofs(launcher));
  SONDE_TRY(keep_roofs(gpus));
  if (const auto path = arguments.value("output")) SONDE_TRY(write_csv(*path, gpus));
  for (const GpuRoofs& gpu : gpus) {
    if (gpu.values.empty()) continue;
    print_error_line(fmt::format("kept in {}", roofs_file(gpu)));
  }
  return print_report(arguments, report_of(gpus), 0);
}

constexpr const char* kText = R"(
roofs - Measure the bandwidths and compute rates of the GPUs here

Runs kernels of known work on each GPU: bandwidth of memory, L2, L1 and LDS, and operations per
second by type, vector and matrix. They are compiled at run time by hiprtc, so ROCm's HIP runtime is
all that is needed. The figures are kept for each GPU in ~/.cache/sonde/roofs, and sonde profile
writes them into its traces, where sonde roofline takes them instead of theoretical peaks. Nothing
else should use the GPUs meanwhile.

Options:
-o, --output FILE  write a roofline.csv of rocprof-compute [none]
--softgpu  measure a software GPU
--only-launch  run the kernels and measure nothing, for another tool that records them
--format --table

Examples:
sonde roofs  measure the GPUs of this machine, once
sonde roofs -o roofline.csv  and for other tools
)";

}  // namespace

Command roofs_command() { return make_command(kText, run, kDefinition); }

}  // namespace sonde::cli
