// sonde steps: how long each iteration took, whether it gets slower, which were slow and what was
// different in them, and whether the data loader is the limit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/analysis.h"
#include "analysis/operations/op_groups.h"
#include "analysis/perf/work.h"
#include "analysis/step_pace.h"
#include "analysis/steps/joined_names.h"
#include "analysis/steps/period.h"
#include "analysis/steps/step_batch.h"
#include "analysis/steps/step_time.h"
#include "analysis/steps/utilisation.h"
#include "analysis/time/gpu_time.h"
#include "analysis/time/host_time.h"
#include "base/strings.h"
#include "report/unit.h"
#include "trace/steps.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using trace::HostWork;
using trace::Interval;

constexpr double kLimitShare = 0.1;  // of the time in which the GPUs wait for data

std::vector<StepTime> cut_to_window(const trace::Trace& trace, const trace::Steps& steps) {
  std::vector<StepTime> times;
  for (const trace::Step& step : steps.steps) {
    const bool is_inside = !trace.window || (step.time.start_ns >= trace.window->start_ns &&
                                             step.time.end_ns <= trace.window->end_ns);
    StepTime time;
    time.step = &step;
    time.time_ns = is_inside ? step.time.end_ns - step.time.start_ns : 0;
    times.push_back(std::move(time));
  }
  return times;
}

// When any GPU of a process ran something; of kNone that of all.
std::map<int32_t, trace::IntervalSet> busy_of_processes(const trace::Trace& trace) {
  std::map<int32_t, trace::IntervalSet> busy;
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const Interval time = {trace.ops.start_ns[op], trace.ops.end_ns[op]};
    busy[kNone].push_back(time);
    if (trace.ops.process[op] != kNone) busy[trace.ops.process[op]].push_back(time);
  }
  for (auto& [process, set] : busy) trace::normalise(set);
  return busy;
}

std::map<uint32_t, trace::IntervalSet> data_loading(const trace::Trace& trace) {
  std::map<uint32_t, trace::IntervalSet> loading;  // by thread
  for (size_t api = 0; api < trace.apis.size(); ++api) {
    const HostWork work =
        trace::host_work_of(trace.apis.kind[api], trace.names[trace.apis.label[api]]);
    if (work != HostWork::kDataLoading) continue;
    loading[trace.apis.thread[api]].push_back({trace.apis.start_ns[api], trace.apis.end_ns[api]});
  }
  for (auto& [thread, set] : loading) trace::normalise(set);
  return loading;
}

void add_host(const trace::Trace& trace, std::vector<StepTime>& times) {
  const HostTime host(trace);
  const auto busy = busy_of_processes(trace);
  const auto loading = data_loading(trace);
  for (StepTime& time : times) {
    if (!time.has_thread() || time.time_ns == 0) continue;
    const auto thread = static_cast<uint32_t>(time.step->thread);
    for (const HostDeed& deed : host.deeds_in(thread, time.step->time)) {
      (deed.work == HostWork::kWaiting ? time.waits : time.host)[deed.label] += deed.time_ns;
    }
    const auto loads = loading.find(thread);
    if (loads == loading.end()) continue;
    const trace::IntervalSet mine = trace::clip(loads->second, time.step->time);
    time.data_ns = trace::length_ns(mine);
    const auto works = busy.find(time.step->process);
    time.data_idle_ns =
        works == busy.end() ? time.data_ns : trace::length_ns(trace::subtract(mine, works->second));
  }
}

void add_ops(const trace::Trace& trace, const std::vector<Row>& step_of,
             std::vector<StepTime>& times) {
  std::map<std::pair<Row, int64_t>, UnionLength> busy;  // by step and GPU
  for (size_t op = 0; op < step_of.size(); ++op) {
    if (step_of[op] == kNone) continue;
    StepTime& time = times[static_cast<size_t>(step_of[op])];
    ++time.ops;
    time.device[trace.label(op)] += trace.op_ns(op);
    busy[{step_of[op], trace.ops.gpu[op]}].add({trace.ops.start_ns[op], trace.ops.end_ns[op]});
  }
  for (const auto& [key, length] : busy) {
    StepTime& time = times[static_cast<size_t>(key.first)];
    time.busy_ns += length.length_ns;
    time.gpu_ns = std::max(time.gpu_ns, length.length_ns);
  }
}

// What grew most in one step against its usual time, and by how much.
std::pair<trace::NameId, int64_t> most_more(const StepTime& slow, std::span<const StepTime> times,
                                            Shares StepTime::*what) {
  std::pair<trace::NameId, int64_t> most = {0, 0};
  for (const auto& [label, time_ns] : slow.*what) {
    if (time_ns <= most.second) continue;  // cannot be more than this
    std::vector<int64_t> usual;
    for (const StepTime& other : times) {
      if (other.step->process != slow.step->process) continue;
      const auto found = (other.*what).find(label);
      usual.push_back(found == (other.*what).end() ? 0 : found->second);
    }
    const int64_t more_ns = time_ns - median_of(std::move(usual));
    if (more_ns > most.second) most = {label, more_ns};
  }
  return most;
}

int64_t sum_of(const Shares& shares) {
  int64_t sum = 0;
  for (const auto& [label, time_ns] : shares) sum += time_ns;
  return sum;
}

// "DataLoader +41.2 ms", "waits +9.1 ms, of which gemm +8.0 ms".
std::string difference(const trace::Trace& trace, const Names& names, const StepTime& slow,
                       std::span<const StepTime> times, int64_t excess_ns) {
  const auto text = [&](const std::pair<trace::NameId, int64_t>& part) {
    const auto joined = names.find(part.first);
    const std::string& name = joined == names.end() ? trace.names[part.first] : joined->second;
    return fmt::format("{} +{}", name.empty() ? "code without a call" : name,
                       format_duration(part.second));
  };
  const auto host = most_more(slow, times, &StepTime::host);
  const auto device = most_more(slow, times, &StepTime::device);
  std::vector<int64_t> usual_waits;
  for (const StepTime& time : times) {
    if (time.step->process == slow.step->process) usual_waits.push_back(sum_of(time.waits));
  }
  const int64_t waits_ns = sum_of(slow.waits) - median_of(std::move(usual_waits));
  const int64_t least_ns = excess_ns / 5;
  if (slow.has_thread() && waits_ns >= least_ns && waits_ns > host.second) {
    std::string said = "waiting for the GPU +" + format_duration(waits_ns);
    if (device.second >= least_ns) said += "; on the GPU " + text(device);
    return said;
  }
  if (host.second >= least_ns) return text(host);
  if (device.second >= least_ns) return "on the GPU " + text(device);
  return slow.has_thread() ? "nothing recorded" : "the GPU idle; sonde idle shows why";
}

// Sorts the steps of all processes together, so that the last steps of each come last; equal ones
// by rank.
void sort_by_start(const trace::Trace& trace, std::vector<StepTime>& times) {
  const auto key = [&](const StepTime& time) {
    const int32_t process = time.step->process;
    const auto rank =
        process == kNone ? std::nullopt : trace.processes[static_cast<size_t>(process)].rank;
    const int64_t pid = process == kNone ? 0 : trace.processes[static_cast<size_t>(process)].pid;
    return std::tuple(time.step->time.start_ns, rank, pid);
  };
  std::stable_sort(times.begin(), times.end(),
                   [&](const StepTime& a, const StepTime& b) { return key(a) < key(b); });
}

// Where the host runs ahead, its times say nothing of how long steps take.
bool any_is_ahead(std::span<const StepTime> times) {
  std::vector<int64_t> gpu;
  for (const StepTime& time : times) gpu.push_back(time.gpu_ns);
  return step_pace(lengths_of(times), std::move(gpu)).host_runs_ahead;
}

// Percent by which the last third is slower than the first. One process whose steps are longer than
// another's is no trend, nor is a queue that has filled.
Value trend_of(std::span<const StepTime> times) {
  const size_t third = times.size() / 3;
  if (times.size() < 2 * kFewSteps) return std::monostate{};
  if (any_is_ahead(times.first(third)) || any_is_ahead(times.last(third))) return std::monostate{};
  const int64_t middle = median_of(lengths_of(times));
  const auto median_on_one_scale = [&](std::span<const StepTime> part) {
    std::vector<int64_t> lengths = lengths_of(part);
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i].usual_ns == middle) continue;
      lengths[i] = std::llround(static_cast<double>(lengths[i]) * static_cast<double>(middle) /
                                static_cast<double>(part[i].usual_ns));
    }
    return median_of(std::move(lengths));
  };
  const int64_t first = median_on_one_scale(times.first(third));
  return percent_of(median_on_one_scale(times.last(third)) - first, first);
}

Value rank_of(const trace::Trace& trace, const trace::Step& step) {
  if (step.process == kNone) return std::monostate{};
  const auto& rank = trace.processes[static_cast<size_t>(step.process)].rank;
  return rank ? Value(*rank) : Value();
}

// What data loading takes of the steps of one process, or of all.
struct DataShare {
  int64_t whole_ns = 0, data_ns = 0, idle_ns = 0;
  Value rank;

  void add(const StepTime& time) {
    whole_ns += time.time_ns;
    data_ns += time.data_ns;
    idle_ns += time.data_idle_ns;
  }
  double share_of(int64_t part_ns) const {
    return whole_ns == 0 ? 0 : 100 * static_cast<double>(part_ns) / static_cast<double>(whole_ns);
  }
  bool is_limit() const { return share_of(idle_ns) >= 100 * kLimitShare; }
};

// Ranks of a job wait for the slowest: where the loader is the limit of one, it is that of all.
std::string data_verdict(const trace::Trace& trace, std::span<const StepTime> times) {
  DataShare all;
  std::map<int32_t, DataShare> by_process;
  bool has_thread = false;
  for (const StepTime& time : times) {
    DataShare& own = by_process[time.step->process];
    own.rank = rank_of(trace, *time.step);
    own.add(time);
    all.add(time);
    has_thread |= time.has_thread();
  }
  if (!has_thread || all.data_ns == 0) return "not known: no data loader range in the steps";
  const auto text = [](const DataShare& one) {
    return fmt::format("it takes {:.1f} % of the steps, and in {:.1f} % the GPU waits for it",
                       one.share_of(one.data_ns), one.share_of(one.idle_ns));
  };
  const DataShare& worst =
      std::max_element(by_process.begin(), by_process.end(), [](const auto& a, const auto& b) {
        return a.second.share_of(a.second.idle_ns) < b.second.share_of(b.second.idle_ns);
      })->second;
  if (!worst.is_limit()) return "no: " + text(all);
  if (worst.share_of(worst.idle_ns) < 2 * all.share_of(all.idle_ns)) return "yes: " + text(all);
  const auto* rank = std::get_if<int64_t>(&worst.rank);
  return fmt::format("yes, {}: there {}",
                     rank == nullptr ? "in one process" : fmt::format("on rank {}", *rank),
                     text(worst));
}

report::Chart chart_of(std::span<const StepTime> times) {
  report::Chart chart{.key = "steps",
                      .title = "Time of each step",
                      .x = {"Step", Kind::kInteger},
                      .y = {"Time", Kind::kTime}};
  report::Series usual{"usual", {}, {}, report::Mark::kPoints, {}};
  report::Series slow{"slow", {}, {}, report::Mark::kPoints, {}};
  for (size_t i = 0; i < times.size(); ++i) {
    report::Series& series = times[i].is_slow ? slow : usual;
    series.values.push_back(static_cast<double>(times[i].time_ns));
    series.places.push_back(static_cast<double>(i));
    series.labels.push_back(times[i].step->name);
  }
  chart.series.push_back(std::move(usual));
  if (!slow.values.empty()) chart.series.push_back(std::move(slow));
  return chart;
}

// What was found of the steps beside their times.
struct Facts {
  Batch batch;
  std::optional<Utilisation> utilisation;
};

void add_facts(const trace::Trace& trace, std::span<const StepTime> times, const Facts& facts,
               report::Section& section) {
  const int64_t middle = median_of(lengths_of(times));
  const auto slow = std::count_if(times.begin(), times.end(), [](auto& t) { return t.is_slow; });
  section.add_fact({"count", "Steps", Kind::kInteger, static_cast<int64_t>(times.size())});
  section.add_fact({"median_ns", "Median", Kind::kTime, middle});
  section.add_fact({"slow", "Slow steps", Kind::kInteger, static_cast<int64_t>(slow)});
  const Value trend = trend_of(times);
  if (!std::holds_alternative<std::monostate>(trend)) {
    section.add_fact({"trend_percentage", "Last third against the first", Kind::kPercent, trend});
  }
  if (trace.ops.size() != 0) {
    section.add_fact({"data_loader_bound", "Is the data loader the limit?", Kind::kText,
                      data_verdict(trace, times)});
  }
  if (facts.utilisation) {
    section.add_fact({"mfu_percentage", "Model FLOP utilisation (MFU)", Kind::kPercent,
                      facts.utilisation->percentage});
    section.add_fact({"mfu_covers_percentage", "Kernel time that MFU covers", Kind::kPercent,
                      facts.utilisation->covers_percentage});
  }
  const int64_t pace = pace_of(times);
  if (std::any_of(times.begin(), times.end(), [](auto& t) { return t.is_ahead; })) {
    section.add_fact({"pace_ns", "Mean step of host and GPU", Kind::kTime, pace});
    section.add_fact({"host_runs_ahead", "The host runs ahead", Kind::kText,
                      std::string("yes: it launches steps before the GPU works on them, so the "
                                  "times of steps say where it waits, and none is called slow")});
  }
  const Batch& batch = facts.batch;
  if (batch.size == 0 || pace == 0) return;
  if (batch.times > 1) {
    section.add_fact(
        {"per_second", fmt::format("{} per second", batch.what), Kind::kText,
         fmt::format(
             "not known: {} has {}, {} times a step (in passes, or layers alike); --batch N "
             "says how many a step takes",
             batch.source, batch.size, batch.times)});
    return;
  }
  const double rate = static_cast<double>(batch.size) * 1e9 / static_cast<double>(pace);
  section.add_fact(
      {"per_second", fmt::format("{} per second", batch.what), Kind::kText,
       fmt::format("{} ({} per step, {})", report::text_of_real(rate), batch.size, batch.source)});
}

report::Section steps_section(const trace::Trace& trace, std::span<const StepTime> times,
                              const Facts& facts) {
  report::Section section{
      .key = "steps",
      .empty_text =
          "No steps: no step markers, and no sequence of kernels that repeats (--step REGEX names "
          "markers)."};
  section.table.add_columns({text("step", "Step"), id("rank", "Rank"), time("time_ns", "Time"),
                             percent("of_median_percentage", "Of median"),
                             time("busy_ns", "GPU busy"), time("data_ns", "Data loading"),
                             integer("ops", "Ops"), text("slow", "Slow")});
  if (times.empty()) return section;
  add_facts(trace, times, facts, section);
  for (const StepTime& time : times) {
    section.table.add_row({time.step->name, rank_of(trace, *time.step), time.time_ns,
                           percent_of(time.time_ns, time.usual_ns), time.busy_ns,
                           time.has_thread() ? Value(time.data_ns) : Value(), time.ops,
                           time.is_slow ? "slow" : ""});
  }
  if (times.size() > 1) section.charts.push_back(chart_of(times));
  return section;
}

std::string why_none_is_slow(std::span<const StepTime> times) {
  constexpr double kTrend = 10;  // percent
  if (times.size() < kFewSteps) return "Too few steps to tell which are slow.";
  if (std::any_of(times.begin(), times.end(), [](auto& time) { return time.is_ahead; })) {
    return "Not told: the host runs ahead.";
  }
  const Value trend = trend_of(times);
  const auto* percentage = std::get_if<double>(&trend);
  if (percentage != nullptr && *percentage >= kTrend) {
    return "No step stands out, but they take longer and longer: see the last third above.";
  }
  return "No step stands out: none is further above the median than steps usually are.";
}

report::Section slow_section(const trace::Trace& trace, const Names& names,
                             std::span<const StepTime> times) {
  report::Section section{.key = "slow", .title = "What was different in the slow steps"};
  section.table.add_columns(
      {text("step", "Step"), time("more_ns", "More than usual"), text("difference", "Most of it")});
  section.empty_text = why_none_is_slow(times);
  for (const StepTime& time : times) {
    if (!time.is_slow) continue;
    const int64_t more_ns = time.time_ns - time.usual_ns;
    section.table.add_row(
        {time.step->name, more_ns, difference(trace, names, time, times, more_ns)});
  }
  std::map<int32_t, std::vector<bool>> is_slow;
  for (const StepTime& time : times) is_slow[time.step->process].push_back(time.is_slow);
  if (const size_t period = period_of_slow(is_slow); period != 0) {
    section.remarks.push_back(fmt::format(
        "The slow steps are {0} steps apart. Look for what happens every {0} steps: logging, a "
        "checkpoint, an optimizer's update after accumulated gradients, or a data loader with {0} "
        "workers that cannot keep up.",
        period));
  }
  return section;
}

// The layers of a model, those of one class as one row, of what the steps launched.
report::Section layers_section(const trace::Trace& trace, const std::vector<Row>& step_of,
                               size_t steps) {
  report::Section section{.key = "layers", .title = "Layers, in all steps"};
  section.table.add_columns({name("module", "Module"), time("total_ns", "GPU time"),
                             percent("percentage", "Share"), time("step_ns", "Per step"),
                             integer("ops", "Ops")});
  const OpGroups layers = group_ops(
      trace, {"module"}, ops_where(trace, [&](size_t op) { return step_of[op] != kNone; }));
  for (const OpGroup& layer : layers.groups) {
    section.table.add_row({layer.name(), layer.time.total_ns,
                           percent_of(layer.time.total_ns, layers.total_ns()),
                           layer.time.total_ns / static_cast<int64_t>(steps), layer.time.calls});
  }
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  report::Report report = begin_report("steps", trace);
  SONDE_ASSIGN(const trace::Steps steps, trace::find_steps(trace, parameters.text("step")));
  Facts facts;
  if (parameters.flag("batch")) {
    SONDE_ASSIGN(facts.batch.size, parameters.count("batch"));
    facts.batch.source = "--batch";
  }
  std::vector<StepTime> times = cut_to_window(trace, steps);
  std::vector<Row> step_of(trace.ops.size(), kNone);
  if (!steps.steps.empty()) step_of = trace::step_of_ops(trace, steps);
  add_host(trace, times);
  std::vector<Shares*> shares;
  for (StepTime& time : times) shares.push_back(&time.host);
  const Names names = join_numbered(trace, shares);
  add_ops(trace, step_of, times);
  std::erase_if(times, [](const StepTime& time) { return time.time_ns <= 0; });
  sort_by_start(trace, times);
  mark_slow_of_processes(times);
  facts.utilisation = utilisation_of(trace, steps, step_of, times);
  if (facts.batch.size == 0 && !times.empty()) {
    facts.batch = batch_of(trace, times[times.size() / 2].step->time);
  }
  report.sections.push_back(steps_section(trace, times, facts));
  if (times.empty()) return report;
  report.sections.push_back(slow_section(trace, names, times));
  report::Section layers = layers_section(trace, step_of, times.size());
  if (layers.table.rows.size() > 1) report.sections.push_back(std::move(layers));
  if (!steps.source.empty()) report.notes.push_back("steps: " + steps.source);
  return report;
}

trace::Request needs(const Parameters&) {
  trace::Request request = modelled_work_needs();
  request.nesting = true;
  request.whole = false;
  add_needs_of_group("module", request);
  request.args_named = [](std::string_view name) {
    return batch_wants_args(name) || find_perf_model(name) != nullptr;
  };
  return request;
}

constexpr const char* kDefinition =
    "steps: one row for each step of the program: the ranges of markers that --step matches, else "
    "ProfilerStep#N, else the ranges of inference servers if most of the GPUs' time was launched "
    "in them, else a sequence of kernels that repeats, on the first GPU of each process that has "
    "one: what runs before, between and after its repeats is no step. Time is from the step's "
    "start to its end on the CPU (for a sequence of kernels, on the GPU); steps that the window "
    "cuts are left out. Of median is Time in percent of the median of its process's steps. GPU "
    "busy is the union of the operations that calls of the step launched, whenever they ran, on "
    "each GPU, added up. Data loading is the time of the step's own thread in ranges and frames "
    "of data loaders.\n\n"
    "A step is slow if it takes more than 1.1 times the median, and more than the median and "
    "three robust standard deviations (1.4826 times the median absolute deviation), all of the "
    "steps of its process; of fewer than five none is. Most of it names what grew most against "
    "the median of these steps (names that differ in a number are one, as ProfilerStep#N): of "
    "what the step's thread did, by the innermost call, or, where it waited for the GPU, of the "
    "operations that the step launched; it must explain a fifth of the difference. Where the slow "
    "steps of every process are three or more, equally far apart, a remark says how far. Last "
    "third against the first compares the medians of both (ten steps or more), each time divided "
    "by the median of its process's steps.\n\n"
    "The data loader is the limit if the GPUs of a process, of all or of one rank, are idle for a "
    "tenth of the steps' time or more while the step's thread loads data. A rate is the batch size "
    "over the median "
    "step: --batch, else the first size of the input of the first convolution (images), or the "
    "number of indices that the first embedding looks up (tokens). Where the busiest GPU works on "
    "a step for more than 1.5 times as long as the host takes for it, both in the median, the host "
    "runs ahead: its steps say where it waits, none is called slow, the rate is over the mean step "
    "of the host or the GPU, whichever is longer, and MFU over the same time.\n\n"
    "Model FLOP utilisation (MFU) is the time that the matrix products, convolutions and "
    "attention that the steps launched would take at the peak of their device and type (as in "
    "sonde perf), divided by the steps' time on all GPUs of their process. Work that is done "
    "again, as with activation checkpointing, counts again. It needs the sizes of inputs "
    "(record_shapes=True), and a device whose peak is known. Kernel time that MFU covers is the "
    "share of the steps' kernel time that these operators have.\n\n"
    "Layers: the operations that the steps launched by the innermost nn.Module around the launch, "
    "in which those of one class (Attention_0, Attention_1) are one row.\n";

}  // namespace

Analysis steps_analysis() {
  return {
      "steps",
      "Show the time of each step, which were slow, and what was different in them",
      "Shows the steps of a training job or an inference server: their times, trend and outliers, "
      "whether the GPU waits for the data loader, images or tokens per second, and which layers "
      "took GPU time.",
      kDefinition,
      {{"sonde steps trace.json", "each ProfilerStep"},
       {"sonde steps trace.rpd --step '^iteration'", "steps by a marker's name"},
       {"sonde steps trace.json --batch 64", "with samples per second"}},
      {{"step", "REGEX",
        "markers that are steps [ProfilerStep#N or an inference server's; else kernels that "
        "repeat]",
        ""},
       {"batch", "N", "samples in a step, for the rate [as the trace says]", ""}},
      needs,
      run};
}

}  // namespace sonde::analysis
