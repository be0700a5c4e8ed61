#include <fmt/format.h>

#include <algorithm>

#include "analysis/analysis.h"
#include "analysis/time/gpu_time.h"
#include "analysis/totals.h"
#include "base/strings.h"
#include "report/layout.h"
#include "trace/steps.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using trace::Interval;

constexpr const char* kNoSteps =
    "No steps: no step markers, and no sequence of kernels that repeats (--step REGEX names the "
    "markers).";

enum Part : size_t { kCompute, kCommunication, kCopy, kMemset, kOther };

void add_columns(report::Table& table) {
  table.add_columns({time("total_ns", "Total"), time("compute_ns", "Compute"),
                     time("exposed_communication_ns", "Exposed comm"),
                     time("exposed_copy_ns", "Exposed copy"),
                     time("exposed_memset_ns", "Exposed memset"), time("other_ns", "Other"),
                     time("idle_ns", "Idle"), percent("compute_percentage", "Compute"),
                     percent("idle_percentage", "Idle")});
  report::leave_first(table, {"other_ns", "exposed_memset_ns", "compute_percentage"});
}

std::vector<Value> row_of(std::vector<Value> key, const Breakdown& breakdown) {
  const auto& exposed = breakdown.exposed_ns;
  key.insert(key.end(), {breakdown.total_ns, exposed[kCompute], exposed[kCommunication],
                         exposed[kCopy], exposed[kMemset], exposed[kOther], breakdown.idle_ns,
                         percent_of(exposed[kCompute], breakdown.total_ns),
                         percent_of(breakdown.idle_ns, breakdown.total_ns)});
  return key;
}

void add(Breakdown& sum, const Breakdown& part) {
  sum.total_ns += part.total_ns;
  sum.idle_ns += part.idle_ns;
  for (size_t i = 0; i < part.exposed_ns.size(); ++i) sum.exposed_ns[i] += part.exposed_ns[i];
}

struct Swept {
  GpuTime time;
  std::vector<trace::Segment> segments;
};

std::map<int64_t, Swept> swept_gpus(const trace::Trace& trace) {
  std::map<int64_t, Swept> swept;
  for (auto& [id, time] : gpu_times(trace)) {
    Swept& gpu = swept[id];
    gpu.segments = trace::sweep(time.sets);
    gpu.time = std::move(time);
  }
  return swept;
}

report::Section gpu_section(const trace::Trace& trace, const std::map<int64_t, Swept>& gpus) {
  report::Section section{.key = "breakdown", .empty_text = no_op_times(trace)};
  const bool ranks_known = !trace.ops.process.empty();
  section.table.add_column(id("gpu_id", "GPU"));
  if (ranks_known) section.table.add_column(id("rank", "Rank"));
  add_columns(section.table);
  section.table.add_columns(
      {time("program_ns", "Program"), percent("idle_of_program_percentage", "Idle of program")});
  for (const auto& [id, gpu] : gpus) {
    std::vector<Value> key = {int64_t{id}};
    if (ranks_known) key.push_back(rank_value(gpu.time));
    const Breakdown parts = breakdown_of(gpu.segments, gpu.time.extent);
    std::vector<Value> row = row_of(std::move(key), parts);
    const int64_t program_ns = trace.program ? trace.program->end_ns - trace.program->start_ns : 0;
    const int64_t busy_ns = parts.total_ns - parts.idle_ns;
    row.emplace_back();
    if (program_ns != 0) row.back() = program_ns;
    row.push_back(percent_of(std::max<int64_t>(program_ns - busy_ns, 0), program_ns));
    section.table.add_row(std::move(row));
  }
  return section;
}

report::Section rank_section(const trace::Trace& trace, const std::map<int64_t, Swept>& gpus) {
  report::Section section{.key = "breakdown", .empty_text = no_op_times(trace)};
  section.table.add_columns({id("rank", "Rank"), integer("gpus", "GPUs")});
  add_columns(section.table);
  std::map<std::optional<int64_t>, std::pair<int64_t, Breakdown>> ranks;
  for (const auto& [id, gpu] : gpus) {
    auto& [count, sum] = ranks[gpu.time.rank];
    ++count;
    add(sum, breakdown_of(gpu.segments, gpu.time.extent));
  }
  for (const auto& [rank, counted] : ranks) {
    section.table.add_row(row_of({rank ? Value(*rank) : Value(), counted.first}, counted.second));
  }
  return section;
}

report::Section step_section(const trace::Trace& trace, const std::map<int64_t, Swept>& gpus,
                             const trace::Steps& steps) {
  report::Section section{.key = "breakdown",
                          .empty_text = steps.steps.empty() ? kNoSteps : no_op_times(trace)};
  section.table.add_columns({text("step", "Step"), id("gpu_id", "GPU"), id("rank", "Rank")});
  add_columns(section.table);
  for (const trace::Step& step : steps.steps) {
    Interval time = step.time;
    if (trace.window) {
      time.start_ns = std::max(time.start_ns, trace.window->start_ns);
      time.end_ns = std::min(time.end_ns, trace.window->end_ns);
      if (time.end_ns <= time.start_ns) continue;
    }
    for (const auto& [id, gpu] : gpus) {
      const bool is_its_own = step.process == trace::kNone || gpu.time.processes.empty() ||
                              gpu.time.processes.count(step.process) != 0;
      if (!is_its_own) continue;
      section.table.add_row(
          row_of({step.name, int64_t{id}, rank_value(gpu.time)}, breakdown_of(gpu.segments, time)));
    }
  }
  return section;
}

// What each step launched, whenever it ran.
report::Section launched_section(const trace::Trace& trace, const std::map<int64_t, Swept>& gpus,
                                 const trace::Steps& steps) {
  report::Section section{
      .key = "breakdown",
      .empty_text = steps.steps.empty() ? kNoSteps : "No step launched an operation."};
  section.table.add_columns({text("step", "Step"), id("gpu_id", "GPU"), id("rank", "Rank")});
  add_columns(section.table);
  const std::vector<trace::Row> step_of = trace::step_of_ops(trace, steps);
  std::map<std::pair<trace::Row, int64_t>, GpuTime> launched;
  for (size_t i = 0; i < step_of.size() && has_op_times(trace); ++i) {
    if (step_of[i] == trace::kNone) continue;
    const Interval time = {trace.ops.start_ns[i], trace.ops.end_ns[i]};
    const auto [entry, is_new] = launched.try_emplace({step_of[i], trace.ops.gpu[i]});
    GpuTime& gpu = entry->second;
    if (is_new) gpu.extent = time;
    gpu.extent.end_ns = std::max(gpu.extent.end_ns, time.end_ns);
    gpu.rank = trace.rank_of_op(i);
    extend(gpu.sets[static_cast<size_t>(trace.ops.category[i])], time);
  }
  std::map<int64_t, CoveredTime> busy;
  for (const auto& [id, gpu] : gpus) busy.emplace(id, busy_set(gpu.time));
  section.table.add_column(time("other_steps_ns", "Other steps"));
  for (const auto& [key, gpu] : launched) {
    Breakdown own = breakdown_of(trace::sweep(gpu.sets), gpu.extent);
    const int64_t others_ns = busy.at(key.second).in(gpu.extent) - (own.total_ns - own.idle_ns);
    own.idle_ns -= others_ns;
    std::vector<Value> row = row_of(
        {steps.steps[static_cast<size_t>(key.first)].name, int64_t{key.second}, rank_value(gpu)},
        own);
    row.push_back(others_ns);
    section.table.add_row(std::move(row));
  }
  return section;
}

// A step that only launches looks idle: its work runs while the CPU is in a later one.
void note_later_work(const trace::Trace& trace, const trace::Steps& steps, report::Report& report) {
  const std::vector<trace::Row> step_of = trace::step_of_ops(trace, steps);
  uint64_t launched = 0, later = 0;
  for (size_t i = 0; i < step_of.size(); ++i) {
    if (step_of[i] == trace::kNone) continue;
    ++launched;
    const Interval step = steps.steps[static_cast<size_t>(step_of[i])].time;
    later += trace.ops.start_ns[i] >= step.end_ns ? 1 : 0;
  }
  if (later == 0) return;
  report.notes.push_back(fmt::format(
      "{} of the {} operations that the steps launched ran after them; --steps launched, the "
      "default, counts these with the step that launched them",
      format_count(later), format_count(launched)));
}

// What other tools print: memory is copies and memsets, communication is what has nccl or rccl in
// its name, and each class is the union of its operations. Lengths of unions are enough: what two
// classes share is the sum of both without their union.
struct Plain {
  UnionLength all, compute, communication, memory, kernels, known;  // known: kernels and memory
};

std::map<int64_t, Plain> plain_classes(const trace::Trace& trace) {
  std::map<int64_t, Plain> gpus;
  Plain* gpu = nullptr;
  std::vector<int8_t> is_xccl(trace.names.size(), -1);
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (gpu == nullptr || trace.ops.gpu[i] != trace.ops.gpu[i - 1]) gpu = &gpus[trace.ops.gpu[i]];
    const Interval time = {trace.ops.start_ns[i], trace.ops.end_ns[i]};
    gpu->all.add(time);
    const bool is_kernel = trace.class_of(i) == trace::OpClass::kKernel;
    const bool is_memory = trace::moves_memory(trace.class_of(i));
    if (is_kernel || is_memory) gpu->known.add(time);
    if (is_memory) gpu->memory.add(time);
    if (!is_kernel) continue;
    gpu->kernels.add(time);
    int8_t& known = is_xccl[trace.ops.name[i]];
    if (known < 0) known = trace::is_xccl(trace.names[trace.ops.name[i]]) ? 1 : 0;
    (known == 1 ? gpu->communication : gpu->compute).add(time);
  }
  return gpus;
}

report::Section plain_section(const trace::Trace& trace, const std::map<int64_t, Swept>& swept) {
  report::Section section{.key = "plain", .title = "In the classes of other tools"};
  report::Table& table = section.table;
  table.add_columns({id("gpu_id", "GPU"), time("busy_ns", "Busy"), time("idle_ns", "Idle"),
                     time("compute_ns", "Compute"), time("comm_ns", "Comm"),
                     time("mem_ns", "Memory"), time("comm_comp_overlap_ns", "Comm and compute"),
                     time("exposed_comm_ns", "Exposed comm"),
                     time("exposed_mem_ns", "Exposed memory")});
  for (const auto& [id, gpu] : plain_classes(trace)) {
    const Interval extent = swept.at(id).time.extent;
    const int64_t compute = gpu.compute.length_ns;
    const int64_t communication = gpu.communication.length_ns;
    const int64_t overlap = compute + communication - gpu.kernels.length_ns;
    table.add_row({int64_t{id}, gpu.all.length_ns,
                   extent.end_ns - extent.start_ns - gpu.all.length_ns, compute, communication,
                   gpu.memory.length_ns, overlap, communication - overlap,
                   gpu.known.length_ns - gpu.kernels.length_ns});
  }
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  report::Report report = begin_report("breakdown", trace);
  std::map<int64_t, Swept> gpus;
  if (has_op_times(trace)) gpus = swept_gpus(trace);
  const std::string& per = parameters.text("per");
  if (per == "step") {
    SONDE_ASSIGN(const trace::Steps steps, trace::find_steps(trace, parameters.text("step")));
    const bool launched = parameters.text("steps") == "launched";
    report.sections.push_back(launched ? launched_section(trace, gpus, steps)
                                       : step_section(trace, gpus, steps));
    if (!launched) note_later_work(trace, steps, report);
    if (launched && report.sections[0].table.rows.empty() && !steps.steps.empty() &&
        !gpus.empty()) {
      report.notes.push_back(
          "the file does not say what the steps launched; --steps ran shows what "
          "ran meanwhile");
    }
    if (!steps.source.empty()) report.notes.push_back("steps: " + steps.source);
  } else {
    report.sections.push_back(per == "rank" ? rank_section(trace, gpus) : gpu_section(trace, gpus));
  }
  bool communication = false;
  for (const auto& [id, gpu] : gpus) communication |= !gpu.time.sets[kCommunication].empty();
  if (!gpus.empty()) {
    report.sections.push_back(plain_section(trace, gpus));
    if (!communication) report.notes.push_back("none of the kernels is a communication kernel");
  }
  return report;
}

constexpr const char* kDefinition =
    "breakdown: where the time of each GPU went. Total is from the start of its first operation to "
    "the end of its last, over all queues; with --from or --to it is the window, and with --per "
    "step the step's own time. Every nanosecond of it counts once: as Compute if a kernel ran that "
    "is not communication; else as Exposed comm if a kernel of a communication library ran; else "
    "as Exposed copy, Exposed memset or Other (barriers, host functions, unknown types) if such an "
    "operation ran; else as Idle. So Compute + Exposed comm + Exposed copy + Exposed memset + "
    "Other + Idle = Total, exactly. Kernels with which AMD's runtime copies or fills count as copy "
    "and memset.\n\n"
    "Communication is recognised by kernel names: NCCL, RCCL, MSCCL++, NVSHMEM, rocSHMEM, DeepEP, "
    "oneCCL and the all-reduce kernels of inference servers. Work that was launched before the "
    "recording counts.\n\n"
    "Program is the wall time of what was recorded (as in sonde busy), and Idle of program the "
    "share of it in which the GPU did nothing, before its first and after its last operation "
    "too.\n\n"
    "--per rank adds up the GPUs of each rank. --per step takes the ranges of markers that --step "
    "matches (else ProfilerStep#N, else those of inference servers if most was launched in them, else a "
    "repeating sequence of kernels). A step has the operations launched by those calls of its process that began in it, "
    "by the file's own links, whenever they ran, and Total is from the first start to the last end "
    "of these; steps that are a repeating sequence of kernels have the kernels that began in it. "
    "Other steps is the time in which nothing of the step ran, but other work ran on that GPU: it "
    "is part of the sum, and not idle. With --steps ran a step is its range on the CPU, and has "
    "everything that ran during it on the GPUs that the marker's process used, whoever launched "
    "it; a step's own kernels may run after it.\n\n"
    "In the classes of other tools: Busy is the union of all operations and Idle the rest of "
    "Total; Compute, Comm and Memory are the unions of their operations, where communication is "
    "what has nccl or rccl in its name, whatever the case of the letters, memory is copies and "
    "memsets, and compute is all other kernels; Exposed comm is Comm without the time in which "
    "compute ran, Exposed memory is Memory without the time in which any kernel ran.\n";

trace::Request needs(const Parameters& parameters) {
  const std::string& per = parameters.text("per");
  return {.ops = true,
          .nesting = per != "gpu",
          .links = per != "gpu",
          .program = true,
          .explains_idle = true,
          .all_apis = per == "step" && parameters.text("steps") == "launched"};
}

}  // namespace

Analysis breakdown_analysis() {
  return {
      "breakdown",
      "Show where each GPU's time went: compute, exposed communication and copies, idle",
      "Counts every nanosecond between the first and the last operation of a GPU once. "
      "Communication and copies are exposed where no computation hides them.",
      kDefinition,
      {{"sonde breakdown trace.rpd", "of each GPU"},
       {"sonde breakdown trace.json --per step", "of each ProfilerStep"},
       {"sonde breakdown trace.rpd --per step --step '^iteration'", "steps by a marker's name"},
       {"sonde breakdown trace.json --per step --steps ran",
        "of what ran while the program was in each step"},
       {"sonde breakdown trace.rpd --from 2s --to 3s", "in the third second of the trace"}},
      {{"per", "WHAT", "what a row is", "gpu", {"gpu", "rank", "step"}},
       {"step", "REGEX",
        "markers that are steps [ProfilerStep#N or an inference server's; else kernels that repeat]",
        ""},
       {"steps",
        "WHAT",
        "what a step contains: the work it launched, or what ran during it",
        "launched",
        {"launched", "ran"}}},
      needs,
      run,
      true};
}

}  // namespace sonde::analysis
