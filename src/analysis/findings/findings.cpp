#include "analysis/findings/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/analysis.h"
#include "analysis/collectives/collectives.h"
#include "analysis/findings/rules.h"
#include "analysis/perf/work.h"
#include "base/strings.h"
#include "report/names.h"
#include "report/render.h"

namespace sonde::analysis {
namespace {

using trace::IntervalSet;

constexpr size_t kNameWidth = 60;

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> rules = host_rules();
  for (const auto& more : {work_rules(), balance_rules(), kernel_rules(), counter_rules(),
                           rank_rules(), cpu_rules()}) {
    rules.insert(rules.end(), more.begin(), more.end());
  }
  return rules;
}

// By process, of those that have their GPUs for themselves.
std::map<int32_t, std::vector<int64_t>> gpus_of_processes(const std::map<int64_t, GpuTime>& gpus) {
  std::map<int32_t, std::vector<int64_t>> of_processes;
  for (const auto& [id, gpu] : gpus) {
    if (gpu.processes.size() == 1) of_processes[*gpu.processes.begin()].push_back(id);
  }
  return of_processes;
}

// A GPU that is in a collective may wait there for another one.
int64_t work_ns(const GpuTime& gpu) {
  IntervalSet work;
  for (size_t i = 0; i < gpu.sets.size(); ++i) {
    const bool waits = i == static_cast<size_t>(trace::Category::kCommunication);
    if (!waits) work = trace::unite(work, gpu.sets[i]);
  }
  return trace::length_ns(work);
}

std::map<int64_t, Evidence::Bound> bounds_of(const std::map<int64_t, GpuTime>& gpus) {
  std::map<int64_t, Evidence::Bound> bounds;
  for (const auto& [process, ids] : gpus_of_processes(gpus)) {
    if (ids.size() < 2) continue;
    Evidence::Bound bound;
    int64_t most_ns = -1, idle_ns = 0, could_be_saved_ns = 0;
    for (const int64_t id : ids) {
      const int64_t own_ns = work_ns(gpus.at(id));
      if (own_ns > most_ns) bound.busiest = id;
      most_ns = std::max(most_ns, own_ns);
    }
    for (const int64_t id : ids) {
      const trace::Interval extent = gpus.at(id).extent;
      idle_ns += extent.end_ns - extent.start_ns - busy_ns(gpus.at(id));
      could_be_saved_ns += std::max<int64_t>(0, extent.end_ns - extent.start_ns - most_ns);
    }
    if (idle_ns <= 0) continue;
    const trace::Interval extent = gpus.at(bound.busiest).extent;
    bound.part =
        std::min(1.0, static_cast<double>(could_be_saved_ns) / static_cast<double>(idle_ns));
    bound.busiest_share =
        static_cast<double>(most_ns) / static_cast<double>(extent.end_ns - extent.start_ns);
    for (const int64_t id : ids) bounds[id] = bound;
  }
  return bounds;
}

// Words in lines of a width, the first after `label`, the others below it.
std::string indented(const std::string& label, std::string_view text) {
  constexpr size_t kIndent = 27, kWidth = 95;
  std::string line = "    " + label;
  line.resize(std::max(line.size() + 1, kIndent), ' ');
  std::string lines;
  size_t words = 0;
  for (const std::string_view word : split(text, ' ')) {
    if (words != 0 && line.size() + word.size() > kWidth) {
      lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line.assign(kIndent, ' ');
    }
    line += std::string(word) + " ";
    ++words;
  }
  return lines + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::map<int64_t, GpuTime> used_gpus(const trace::Trace& trace) {
  constexpr int64_t kHardly = 100;  // one part in so many
  std::map<int64_t, GpuTime> gpus = gpu_times(trace);
  int64_t most_ns = 0;
  for (const auto& [id, gpu] : gpus) most_ns = std::max(most_ns, busy_ns(gpu));
  std::erase_if(gpus, [&](const auto& one) { return busy_ns(one.second) < most_ns / kHardly; });
  return gpus;
}

Evidence::Evidence(const trace::Trace& of) : trace(of), gpus(used_gpus(of)) {
  for (const auto& [id, gpu] : gpus) {
    const Breakdown own = breakdown_of(trace::sweep(gpu.sets), gpu.extent);
    all.total_ns += own.total_ns;
    for (size_t i = 0; i < own.exposed_ns.size(); ++i) all.exposed_ns[i] += own.exposed_ns[i];
  }
  idle_bounds = bounds_of(gpus);
}

double part_to_save(const Evidence& evidence, const Lanes& idle) {
  double could_be_saved_ns = 0;
  for (const auto& [gpu, set] : idle) {
    const auto bound = evidence.idle_bounds.find(gpu);
    const double part = bound == evidence.idle_bounds.end() ? 1 : bound->second.part;
    could_be_saved_ns += part * static_cast<double>(trace::length_ns(set));
  }
  const int64_t idle_ns = length_ns(idle);
  return idle_ns == 0 ? 1 : could_be_saved_ns / static_cast<double>(idle_ns);
}

std::string bound_text(const Evidence& evidence, const Lanes& idle) {
  constexpr double kNearlyAll = 0.9;
  if (part_to_save(evidence, idle) >= kNearlyAll) return "";
  const auto longest = std::max_element(idle.begin(), idle.end(), [](const auto& a, const auto& b) {
    return trace::length_ns(a.second) < trace::length_ns(b.second);
  });
  const auto bound = evidence.idle_bounds.find(longest->first);
  if (bound == evidence.idle_bounds.end()) return "";
  return fmt::format(
      "; GPU {} of the process works for {:.0f} % of the time, which no other GPU "
      "can shorten",
      bound->second.busiest, 100 * bound->second.busiest_share);
}

int64_t length_ns(const Lanes& lanes) {
  int64_t sum_ns = 0;
  for (const auto& [lane, set] : lanes) sum_ns += trace::length_ns(set);
  return sum_ns;
}

std::string time_text(int64_t ns) {
  report::Column column;
  column.kind = Kind::kTime;
  return report::text_of(ns, column);
}

std::string short_name_of(const std::string& name) {
  return report::cut_names(report::short_names(std::span(&name, 1)), kNameWidth).front();
}

std::vector<std::string> finding_ids() {
  std::vector<std::string> ids;
  for (const Rule* rule : all_rules()) ids.emplace_back(rule->id);
  return ids;
}

std::vector<Finding> all_findings_of(std::span<const trace::Trace> traces) {
  const bool has_ops = std::any_of(traces.begin(), traces.end(),
                                   [](const trace::Trace& one) { return one.ops.size() != 0; });
  std::vector<Claims> claims(traces.size());
  int64_t wall_ns = 0;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (!has_ops) {
      wall_ns += add_cpu_claims(traces[i], claims[i]);
      continue;
    }
    if (traces[i].ops.size() == 0) continue;  // a process without a GPU beside those with one
    const Evidence evidence(traces[i]);
    wall_ns += evidence.all.total_ns;
    add_host_claims(evidence, claims[i]);
    add_work_claims(evidence, claims[i]);
    wall_ns += add_balance_claims(evidence, claims[i]);
    add_kernel_claims(evidence, claims[i]);
    add_counter_claims(evidence, claims[i]);
  }
  if (has_ops) add_rank_claims(traces, claims);
  std::vector<Finding> findings = ranked(claims, wall_ns, traces);
  std::erase_if(findings, [](const Finding& finding) {
    return finding.saving_ns == 0 && !finding.dominates();
  });
  return findings;
}

std::vector<Finding> findings_of(std::span<const trace::Trace> traces, double least_percentage) {
  std::vector<Finding> findings = all_findings_of(traces);
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.saving_ns == 0 || finding.saving_percentage() < least_percentage;
  });
  return findings;
}

size_t put_small_behind(std::vector<Finding>& findings, double least_percentage) {
  const auto small = std::stable_partition(findings.begin(), findings.end(), [&](const auto& one) {
    return one.saving_percentage() >= least_percentage ||
           (one.dominates() && one.own_percentage() >= least_percentage);
  });
  return static_cast<size_t>(small - findings.begin());
}

trace::Request findings_needs() {
  trace::Request request = trace::united(
      {.ops = true, .op_bytes = true, .links = true, .streams = true, .samples = true},
      collectives_needs());
  request = trace::united(request, modelled_work_needs());
  request.args_named = [](std::string_view name) {
    return collectives_want_args(name) || find_perf_model(name) != nullptr ||
           trace::is_wait_call(name);
  };
  request.explains_idle = true;
  request.all_apis = true;
  request.op_counters = true;
  request.devices = true;
  request.program = true;
  request.cpu_time = true;
  request.whole = false;
  return request;
}

std::string findings_definition() {
  std::string text =
      "check: what costs GPU time and could be improved, largest saving first. Of is the time that "
      "a finding is about, Could save the part of it that its rule expects to save, and Share that "
      "part in percent of the time between the first and the last operation of each GPU (or of the "
      "window), added up over the GPUs, plus the time outside it that uneven-gpus counts. No "
      "moment of a GPU counts for two findings: findings that name a cause take their time first, "
      "then the others, largest first; so the shares never add up to more than the whole. Findings "
      "that could save less than --least percent are left out, unless that much is at stake and at "
      "least half of the time, or a tenth of it in communication or copies that take 80 % of the "
      "time, alone or beside other work, in transfer-waits or in missing-ranks: such a finding is "
      "listed, without a figure if its rule does not say what could be saved. Where a process has "
      "several GPUs, what all findings about idle time could save is at most what the GPU with "
      "most work is idle, for each of them. If a trace has steps and the first of them, at most "
      "ten, take more than 1.5 times the median, what they launched is warm-up and is left out, "
      "also in processes that communicate and have as many steps of that length. It is none if the "
      "steps behind it have other names, or if half of the longer time is longer calls of kernels "
      "that later steps call, too; nor are the last of these steps if two later ones take three "
      "quarters of their time; more than ten are a part of their own, and the warm-up is looked "
      "for in that; --from, --to and --window are taken literally. A GPU that worked for less than "
      "a hundredth of the busiest's time is named as hardly used, "
      "and its idle time is no finding.\n\n"
      "Before the findings: Steps and their median are those that sonde steps has; of several "
      "processes or files, the steps of the one with most and the median of the slowest. GPU busy "
      "of wall time has the warm-up in both times; from the first to the last operation neither has "
      "it, if steps were left out.\n\n";
  for (const Rule* rule : all_rules()) {
    text += indented(rule->id, std::string(rule->definition) + ". Could save: " + rule->saving);
  }
  text +=
      "\n"
      "Exposed and idle times are the same as in sonde breakdown. In a trace without device "
      "operations, only the time counts in which a thread was sampled on a CPU or is between its "
      "first and its last recorded call; samples within Python's import system are start-up and "
      "are left out.\n";
  return text;
}

}  // namespace sonde::analysis
