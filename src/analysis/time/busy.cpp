#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using trace::Interval;

struct Gpu {
  std::vector<Interval> ops;
  std::optional<Interval> extent;
  int64_t sum_ns = 0;
};

std::map<int64_t, Gpu> by_gpu(const trace::Trace& trace) {
  std::map<int64_t, Gpu> gpus;
  Gpu* gpu = nullptr;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (gpu == nullptr || trace.ops.gpu[i] != trace.ops.gpu[i - 1]) gpu = &gpus[trace.ops.gpu[i]];
    gpu->ops.push_back({trace.ops.start_ns[i], trace.ops.end_ns[i]});
    gpu->sum_ns += trace.op_ns(i);
    extend(gpu->extent, gpu->ops.back());
  }
  return gpus;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters&) {
  report::Report report = begin_report("busy", trace);
  report::Section section{.key = "busy", .empty_text = no_op_times(trace)};
  report::Table& table = section.table;
  table.add_columns({id("gpu_id", "GPU"), integer("ops", "Ops"), time("busy_ns", "Busy time"),
                     time("span_ns", trace.window ? "Window" : "First to last op"),
                     real("busy", "Busy share"), time("program_ns", "Program"),
                     real("busy_of_program", "Busy of program"), time("sum_ns", "Sum of ops"),
                     time("rpd_wall_ns", "RPD wall"), real("rpd_busy", "RPD busy")});
  std::map<int64_t, Gpu> gpus;
  if (has_op_times(trace)) gpus = by_gpu(trace);
  std::optional<Interval> everything;
  for (const auto& [id, gpu] : gpus) extend(everything, *gpu.extent);
  for (auto& [id, gpu] : gpus) {
    const auto ops = static_cast<int64_t>(gpu.ops.size());
    trace::normalise(gpu.ops);
    const Interval window = trace.window ? *trace.window : *gpu.extent;
    const int64_t busy_ns = trace::length_ns(gpu.ops);
    const int64_t window_ns = window.end_ns - window.start_ns;
    const int64_t wall_ns = everything->end_ns - everything->start_ns;
    const int64_t program_ns = trace.program ? trace.program->end_ns - trace.program->start_ns : 0;
    table.add_row({int64_t{id}, ops, busy_ns, window_ns, ratio_of(busy_ns, window_ns),
                   program_ns == 0 ? report::Value() : report::Value(program_ns),
                   ratio_of(busy_ns, program_ns), gpu.sum_ns, wall_ns,
                   ratio_of(gpu.sum_ns, wall_ns)});
  }
  report.sections.push_back(std::move(section));
  return report;
}

constexpr const char* kDefinition =
    "busy: one row for each GPU. Busy time is the length of the union of the intervals [start, "
    "end) of its operations: time in which several run counts once. First to last op is from the "
    "start of the GPU's first operation to the end of its last; with --from or --to it is the "
    "requested window, cut to the time the trace covers. Busy share is Busy time divided by that, "
    "never above 1. With --kernel only the operations chosen count, for the first and the last "
    "too.\n\n"
    "Program is the wall time of what was recorded: from the start of the first process to the end "
    "of the last, or where the file does not say so, from the first to the last of its operations, "
    "calls and markers; with --from or --to the window. A program that uses its GPU only at the "
    "end keeps it busy from first to last operation, but idle most of the time.\n\n"
    "Sum of ops adds up all durations, so overlapping operations count several times. RPD wall is "
    "from the first start to the last end over all GPUs, and RPD busy is Sum of ops / RPD wall: "
    "the figure of RPD's view `busy`, which exceeds 1 if queues overlap and is too small if GPUs "
    "do not work all the time. In SQL: sonde_busy.\n";

}  // namespace

Analysis busy_analysis() {
  return {"busy",
          "Show how much of the time each GPU was busy",
          "Shows for each GPU the time in which at least one operation ran, as a share of the time "
          "from its first operation to its last and of the program's wall time, and beside it the "
          "figure that RPD's tools print, which adds up overlapping operations.",
          kDefinition,
          {{"sonde busy trace.rpd", "from the first to the last operation of each GPU"},
           {"sonde busy trace.rpd --from 2s --to 3s", "in the third second of the trace"},
           {"sonde busy trace.rpd --format json", "the same as values for a script"}},
          {},
          [](const Parameters&) { return trace::Request{.ops = true, .program = true}; },
          run};
}

}  // namespace sonde::analysis
