#include "metrics/workload/trace.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/gpu_facts.h"

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
    return make_error(ErrorCode::kNotFound, "it has no hardware counters", trace.path,
                      "give a trace that has them, or a folder of rocprof-compute");
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

}  // namespace sonde::metrics
