#include "metrics/workload/trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "base/strings.h"
#include "metrics/csv_text.h"
#include "metrics/gpu_facts.h"
#include "trace/kernel_facts.h"

namespace sonde::metrics {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

// Rows are the operations that have a counter, in order of their start.
std::vector<trace::Row> counted_ops(const trace::Trace& trace) {
  std::vector<trace::Row> ops = trace.op_counters.op;
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

std::string device_of(const trace::Trace& trace, const std::vector<trace::Row>& ops) {
  for (const trace::Device& device : trace.devices) {
    if (device.gpu == trace.ops.gpu[static_cast<size_t>(ops[0])]) return device.name;
  }
  return "";
}

std::map<std::string, std::vector<double>> columns_of(const trace::Trace& trace,
                                                      const std::vector<trace::Row>& ops) {
  std::map<std::string, std::vector<double>> columns;
  const trace::OpCounters& counters = trace.op_counters;
  for (size_t i = 0; i < counters.size(); ++i) {
    std::vector<double>& column = columns[trace.names[counters.name[i]]];
    column.resize(ops.size(), kNotKnown);
    const auto at = std::lower_bound(ops.begin(), ops.end(), counters.op[i]) - ops.begin();
    double& value = column[static_cast<size_t>(at)];
    value = std::isnan(value) ? counters.value[i] : value + counters.value[i];
  }
  // A counter of all parts of a cache is the sum that formulas call so.
  std::map<std::string, std::vector<double>> sums;
  for (const auto& [name, column] : columns) {
    const std::string block = name.substr(0, name.find('_'));
    const bool has_parts = block == "TCC" || block == "TCP" || block == "TA" || block == "TD";
    const bool is_part = name.find('[') != name.npos;
    if (has_parts && !is_part && columns.count(name + "_sum") == 0) sums[name + "_sum"] = column;
  }
  columns.merge(sums);
  return columns;
}

}  // namespace

trace::Request workload_request() {
  trace::Request request;
  request.ops = true;
  request.op_counters = true;
  request.devices = true;
  request.whole = true;
  return request;
}

Result<Workload> workload_of(const trace::Trace& trace, const std::string& model) {
  const std::vector<trace::Row> ops = counted_ops(trace);
  if (ops.empty()) {
    return make_error(
        ErrorCode::kNotFound, "it has no hardware counters", trace.path,
        "sonde profile -- PROGRAM counts them; folders of rocprof-compute have them, too");
  }
  SONDE_ASSIGN(GpuFacts gpu, gpu_facts_of(model.empty() ? device_of(trace, ops) : model));
  Workload workload;
  workload.path = trace.path;
  workload.gpu = gpu.arch;
  workload.model = gpu.model;
  workload.facts = std::move(gpu.facts);
  workload.warnings = trace.warnings;
  workload.on_softgpu = trace.op_counters.on_softgpu;
  std::vector<double> starts, ends;
  const int64_t origin = trace.ops.start_ns[static_cast<size_t>(ops[0])];
  for (const trace::Row row : ops) {
    const auto op = static_cast<size_t>(row);
    workload.kernels.push_back(trace.names[trace.label(op)]);
    workload.dispatches.push_back(static_cast<int64_t>(workload.dispatches.size()));
    workload.gpus.push_back(trace.ops.gpu[op]);
    starts.push_back(static_cast<double>(trace.ops.start_ns[op] - origin));
    ends.push_back(static_cast<double>(trace.ops.end_ns[op] - origin));
  }
  auto columns = columns_of(trace, ops);
  columns["Start_Timestamp"] = std::move(starts);
  columns["End_Timestamp"] = std::move(ends);
  for (auto& [name, column] : columns) {
    workload.main.columns[name] = std::make_shared<const std::vector<double>>(std::move(column));
  }
  return workload;
}

namespace {

double known(int64_t number) { return number < 0 ? kNotKnown : static_cast<double>(number); }

// "HBMBw=1388.9 L2Bw=..." of each GPU, at the place of its number.
std::vector<Roofs> roofs_of(const trace::KernelFacts& facts) {
  constexpr int64_t kMostGpus = 1000;
  std::vector<Roofs> roofs;
  for (const auto& [gpu, text] : facts.roofs) {
    if (gpu < 0 || gpu >= kMostGpus) continue;
    if (roofs.size() <= static_cast<size_t>(gpu)) roofs.resize(static_cast<size_t>(gpu) + 1);
    for (const std::string_view part : split(text, ' ')) {
      const size_t equals = part.find('=');
      if (equals == part.npos) continue;
      const double value = number_of(part.substr(equals + 1));
      if (value > 0) roofs[static_cast<size_t>(gpu)][std::string(part.substr(0, equals))] = value;
    }
  }
  return roofs;
}

// The launch of each row; nullptr where there is none. Both count times from their first.
std::vector<const trace::KernelLaunch*> launches_of(const trace::KernelFacts& facts,
                                                    const Workload& workload) {
  std::map<std::tuple<int64_t, int64_t, std::string_view>, const trace::KernelLaunch*> by_start;
  for (const trace::KernelLaunch& launch : facts.launches) {
    by_start[{launch.gpu, launch.start_ns - facts.launches[0].start_ns, launch.kernel}] = &launch;
  }
  const Column* starts = workload.main.find("Start_Timestamp");
  std::vector<const trace::KernelLaunch*> launches(workload.rows(), nullptr);
  for (size_t i = 0; starts != nullptr && i < launches.size(); ++i) {
    const auto found =
        by_start.find({workload.gpus[i], static_cast<int64_t>((**starts)[i]), workload.kernels[i]});
    if (found != by_start.end()) launches[i] = found->second;
  }
  return launches;
}

void add_kernel_facts(const trace::KernelFacts& facts, Workload& workload) {
  workload.roofs = roofs_of(facts);
  const auto launches = launches_of(facts, workload);
  std::map<std::string, std::vector<double>> columns;
  const auto put = [&](const std::string& name, size_t row, double value) {
    std::vector<double>& column = columns[name];
    column.resize(workload.rows(), kNotKnown);
    column[row] = value;
  };
  for (size_t row = 0; row < launches.size(); ++row) {
    if (launches[row] == nullptr) continue;
    const trace::KernelLaunch& launch = *launches[row];
    put("Arch_VGPR", row, known(launch.takes.vgprs));
    put("Accum_VGPR", row, known(launch.takes.agprs));
    put("SGPR", row, known(launch.takes.sgprs));
    put("LDS_Per_Workgroup", row, known(launch.takes.lds_bytes));
    put("Scratch_Per_Workitem", row, known(launch.takes.scratch_bytes));
    put("Workgroup_Size", row, known(launch.group_items));
    put("Grid_Size", row, known(launch.grid_items));
    for (const auto& [name, value] : launch.channels) put(name, row, value);
  }
  for (auto& [name, column] : columns) {
    workload.main.columns.try_emplace(
        name, std::make_shared<const std::vector<double>>(std::move(column)));
  }
}

// The rows of operations that overlap the window; one without a length lies in it.
Result<Workload> only_in(const trace::Window& window, const trace::Trace& trace,
                         const Workload& workload) {
  std::vector<bool> keep;
  for (const trace::Row row : counted_ops(trace)) {
    const int64_t start_ns = trace.ops.start_ns[static_cast<size_t>(row)];
    const int64_t end_ns = trace.ops.end_ns[static_cast<size_t>(row)];
    keep.push_back(start_ns < window.select.end_ns &&
                   std::max(end_ns, start_ns + 1) > window.select.start_ns);
  }
  if (std::find(keep.begin(), keep.end(), true) == keep.end()) {
    return make_error(ErrorCode::kNotFound, "no kernel with hardware counters is in the window",
                      workload.path);
  }
  return only_rows(workload, keep);
}

}  // namespace

Result<Workload> workload_of_file(const std::string& path, const std::string& as,
                                  const std::string& model, const trace::WindowText& window) {
  SONDE_ASSIGN(const trace::CountedTrace counted,
               trace::load_counted(path, as, workload_request(), window));
  SONDE_ASSIGN(Workload workload, workload_of(counted.trace, model));
  add_kernel_facts(counted.facts, workload);
  if (!window.given()) return workload;
  return only_in(counted.window, counted.trace, workload);
}

}  // namespace sonde::metrics
