#include "analysis/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "analysis/gpu_time.h"
#include "analysis/idle_gaps.h"
#include "analysis/totals.h"
#include "base/strings.h"
#include "report/names.h"
#include "report/render.h"

namespace sonde::analysis {
namespace {

using report::Kind;
using trace::kNone;

constexpr int64_t kLaunchLatencyNs = 30'000;  // the default of sonde idle --latency

// What a rule says; the figures come from the trace.
struct Rule {
  const char* id;
  const char* title;
  const char* advice;
};

constexpr std::array<Rule, kIdleReasons> kIdleRules = [] {
  std::array<Rule, kIdleReasons> rules{};
  rules[static_cast<size_t>(IdleReason::kSync)] = {
      "waits", "GPUs are idle because the program waits for them before it launches more",
      "Take out synchronisations in the loop: .item(), .cpu(), printing of tensors, explicit "
      "device synchronisation; copy to the host asynchronously. sonde idle lists the longest."};
  rules[static_cast<size_t>(IdleReason::kLaunchBound)] = {
      "launch-bound", "GPUs are idle because the program launches work too late",
      "Give each launch more to do, or launch less often: larger batches, fused operators "
      "(torch.compile), HIP or CUDA graphs, data loading in other processes. sonde sequences shows "
      "what could be fused, sonde operators where the launches come from."};
  rules[static_cast<size_t>(IdleReason::kLaunchLatency)] = {
      "launch-latency", "GPUs are idle between a launch and its start",
      "Many short kernels pay this each time: graphs or fusion make fewer launches. sonde launches "
      "shows the time in the queue."};
  rules[static_cast<size_t>(IdleReason::kDependency)] = {
      "stream-waits", "GPUs are idle because a stream waits for another",
      "Look at what the event waits for, and whether independent work could run meanwhile. sonde "
      "critical-path shows the chain."};
  return rules;
}();

constexpr Rule kCommunicationRule = {
    "exposed-communication", "Communication runs while no kernel computes",
    "Overlap it with computation: buckets of gradients, prefetch of shards, another stream. sonde "
    "overlap shows how much is hidden, sonde collectives who was late."};
constexpr Rule kCopyRule = {
    "exposed-copies", "Copies run while no kernel computes",
    "Copy from pinned memory, asynchronously and in another stream; keep on the GPU what is used "
    "again. sonde copies shows which copies, and how fast."};
constexpr Rule kKernelRule = {
    "one-kernel", "One kernel takes most of the time",
    "Begin with this kernel: its algorithm, its library, its precision, its shapes. sonde kernels "
    "shows how its times spread, sonde operators who calls it."};

constexpr double kOneKernelPercentage = 25;
constexpr size_t kNameWidth = 60;

Finding make(const Rule& rule, int64_t cost_ns, int64_t wall_ns, std::string evidence) {
  return {rule.id, rule.title, std::move(evidence), rule.advice, cost_ns, wall_ns};
}

std::string time_text(int64_t ns) {
  report::Column column;
  column.kind = Kind::kTime;
  return report::text_of(ns, column);
}

std::string short_name_of(const std::string& name) {
  return report::cut_names(report::short_names(std::span(&name, 1)), kNameWidth).front();
}

std::string name_text(const trace::Trace& trace, trace::Row op) {
  if (op == kNone) return "the end of the trace";
  return short_name_of(trace.names[trace.label(static_cast<size_t>(op))]);
}

void add_idle(const trace::Trace& trace, int64_t wall_ns, std::vector<Finding>& findings) {
  struct Sum {
    int64_t gaps = 0, total_ns = 0;
    const Gap* longest = nullptr;
  };
  std::array<Sum, kIdleReasons> sums{};
  const std::vector<Gap> gaps = idle_gaps(trace, kLaunchLatencyNs);
  const auto length = [](const Gap& gap) { return gap.time.end_ns - gap.time.start_ns; };
  for (const Gap& gap : gaps) {
    Sum& sum = sums[static_cast<size_t>(gap.reason)];
    ++sum.gaps;
    sum.total_ns += length(gap);
    if (sum.longest == nullptr || length(gap) > length(*sum.longest)) sum.longest = &gap;
  }
  for (size_t reason = 0; reason < kIdleReasons; ++reason) {
    const Sum& sum = sums[reason];
    if (kIdleRules[reason].id == nullptr || sum.gaps == 0) continue;
    findings.push_back(
        make(kIdleRules[reason], sum.total_ns, wall_ns,
             fmt::format("{} gap{}, {} on average; the longest, {}, ends with {}", sum.gaps,
                         sum.gaps == 1 ? "" : "s", time_text(sum.total_ns / sum.gaps),
                         time_text(length(*sum.longest)), name_text(trace, sum.longest->next))));
  }
}

void add_exposed(const Breakdown& all, std::vector<Finding>& findings) {
  const auto exposed = [&](trace::Category category) {
    return all.exposed_ns[static_cast<size_t>(category)];
  };
  const int64_t communication_ns = exposed(trace::Category::kCommunication);
  findings.push_back(make(kCommunicationRule, communication_ns, all.total_ns,
                          time_text(communication_ns) + " of communication are not hidden"));
  const int64_t copy_ns = exposed(trace::Category::kCopy) + exposed(trace::Category::kMemset);
  findings.push_back(make(kCopyRule, copy_ns, all.total_ns,
                          time_text(copy_ns) + " of copies and memsets are not hidden"));
}

void add_kernel(const trace::Trace& trace, int64_t wall_ns, std::vector<Finding>& findings) {
  const auto totals = op_totals(
      trace, [&](size_t op) { return trace.ops.category[op] == trace::Category::kCompute; });
  if (totals.empty()) return;
  const Total& first = totals.front();
  const double share = 100.0 * static_cast<double>(first.total_ns) /
                       static_cast<double>(std::max<int64_t>(1, sum_ns(totals)));
  if (share < kOneKernelPercentage) return;
  findings.push_back(make(kKernelRule, first.total_ns, wall_ns,
                          fmt::format("{}: {} calls, {}, {:.1f} % of all kernels' time",
                                      short_name_of(trace.names[first.name]), first.calls,
                                      time_text(first.total_ns), share)));
}

}  // namespace

std::vector<std::string> finding_ids() {
  std::vector<std::string> ids;
  for (const Rule& rule : kIdleRules) {
    if (rule.id != nullptr) ids.emplace_back(rule.id);
  }
  for (const Rule* rule : {&kCommunicationRule, &kCopyRule, &kKernelRule}) {
    ids.emplace_back(rule->id);
  }
  return ids;
}

std::vector<Finding> findings_of(const trace::Trace& trace, double least_percentage) {
  Breakdown all;
  for (const auto& [id, gpu] : gpu_times(trace)) {
    const Breakdown own = breakdown_of(trace::sweep(gpu.sets), gpu.extent);
    all.total_ns += own.total_ns;
    for (size_t i = 0; i < own.exposed_ns.size(); ++i) all.exposed_ns[i] += own.exposed_ns[i];
  }
  std::vector<Finding> findings;
  if (all.total_ns == 0) return findings;
  add_idle(trace, all.total_ns, findings);
  add_exposed(all, findings);
  add_kernel(trace, all.total_ns, findings);
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.cost_ns == 0 || finding.wall_percentage() < least_percentage;
  });
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.cost_ns > b.cost_ns; });
  return findings;
}

trace::Request findings_needs() {
  return trace::Request{.ops = true, .links = true, .all_apis = true};
}

report::Report findings_report(const trace::Trace& trace, const std::vector<Finding>& findings) {
  report::Report report = begin_report("check", trace);
  report::Section section;
  section.key = "check";
  section.empty_text = trace.ops.size() == 0
                           ? "No operations of a device, so nothing can be said about its time."
                           : "Nothing that stands out.";
  section.table.add_column({"finding", "Finding", Kind::kText});
  section.table.add_column({"wall_percentage", "Wall", Kind::kPercent, 1});
  section.table.add_column({"cost_ns", "Time", Kind::kTime});
  section.table.add_column({"title", "What", Kind::kText});
  for (const Finding& finding : findings) {
    section.table.add_row({finding.id, finding.wall_percentage(), finding.cost_ns, finding.title});
    section.remarks.push_back(finding.id + ": " + finding.evidence + ". " + finding.advice);
  }
  report.sections.push_back(std::move(section));
  return report;
}

const char* const kFindingsDefinition =
    "check: what takes the GPUs' time and could be otherwise. Time is summed over GPUs, and Wall "
    "is its share of the time between the first and the last operation of each GPU (or of the "
    "window), summed as well. Findings that cost less than --least percent are left out; the "
    "others stand in order of cost, which may overlap.\n"
    "\n"
    "    waits, launch-bound, launch-latency, stream-waits\n"
    "                           the idle time of the reasons sync, launch-bound, launch latency\n"
    "                           and dependency of sonde idle\n"
    "    exposed-communication  Exposed comm of sonde breakdown\n"
    "    exposed-copies         Exposed copy and Exposed memset of sonde breakdown\n"
    "    one-kernel             the time of the kernel with the largest total, if it has a quarter\n"
    "                           of the time of all kernels that compute\n";

}  // namespace sonde::analysis
