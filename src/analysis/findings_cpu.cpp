#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "analysis/findings_rules.h"
#include "analysis/sample_totals.h"
#include "base/strings.h"
#include "trace/op_tree.h"

namespace sonde::analysis {
namespace {

using trace::ApiKind;
using trace::kNone;

constexpr Rule kFunctionRule = {
    "cpu-function", "One function takes most of the CPU time",
    "Begin with this function: its algorithm, its library, the flags that it was built with. sonde "
    "stacks shows who calls it.",
    "without operations of a device: the CPU time of the samples whose innermost function it is, if "
    "that is a quarter of all samples' time"};
constexpr Rule kLineRule = {
    "cpu-line", "One line of Python takes most of the CPU time",
    "Do there what is done for each element in one call of a library, or not at all. sonde "
    "stacks shows what calls it.",
    "without operations of a device: the CPU time of the samples whose innermost line of the "
    "user's own code it is, if that is a quarter of all samples' time"};
constexpr Rule kOperatorRule = {
    "cpu-operator", "One operator takes most of the operators' time",
    "Its shapes, its type and its number of threads (OMP_NUM_THREADS, torch.set_num_threads); "
    "another memory format (channels_last), oneDNN, torch.compile. sonde operators shows the rest.",
    "without operations of a device: the time of the operator with the largest own time, without "
    "operators in it, if that is a quarter of that of all operators; of the time between the first "
    "and the last call of the threads that call operators"};
constexpr Rule kDataRule = {
    "cpu-data-loading", "The program waits for its data",
    "More workers, a larger prefetch_factor, persistent_workers=True; less work for each sample, or "
    "prepared samples on disk.",
    "without operations of a device: time within markers of data loaders (DataLoader in the name), "
    "of the time between the first and the last call of their threads"};

constexpr double kMostPercentage = 25;

double percentage_of(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void add_samples(const trace::Trace& trace, Findings& findings) {
  const SampleTotals totals = sample_totals(trace);
  const auto add_first = [&](const Rule& rule, const std::vector<SampleTotal>& list,
                             const auto& shown) {
    if (list.empty()) return;
    const double share = percentage_of(list.front().cpu_ns, totals.cpu_ns);
    if (share < kMostPercentage) return;
    findings.push_back(
        make_finding(rule, list.front().cpu_ns, totals.cpu_ns,
                     fmt::format("{}: {}, {:.1f} % of the CPU time of {} samples",
                                 shown(list.front().name), time_text(list.front().cpu_ns), share,
                                 format_count(static_cast<uint64_t>(totals.samples)))));
  };
  add_first(kFunctionRule, totals.functions, short_name_of);
  add_first(kLineRule, totals.lines, std::identity());
}

// From the first to the last call of each thread, for those that `wanted` takes.
template <typename Wanted>
int64_t time_of_threads(const trace::Trace& trace, Wanted wanted) {
  std::vector<std::optional<trace::Interval>> extents(trace.threads.size());
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    auto& extent = extents[trace.apis.thread[i]];
    if (!extent) extent = trace::Interval{trace.apis.start_ns[i], trace.apis.end_ns[i]};
    extent->end_ns = std::max(extent->end_ns, trace.apis.end_ns[i]);
  }
  int64_t time_ns = 0;
  for (size_t thread = 0; thread < extents.size(); ++thread) {
    if (extents[thread] && wanted(thread)) {
      time_ns += extents[thread]->end_ns - extents[thread]->start_ns;
    }
  }
  return time_ns;
}

void add_operators(const trace::Trace& trace, Findings& findings) {
  const trace::OpTree tree = trace::build_op_tree(trace);
  const auto is_operator = [&](size_t i) { return trace.apis.kind[i] == ApiKind::kOperator; };
  std::vector<int64_t> sums(trace.names.size());
  std::vector<bool> calls_operators(trace.threads.size());
  int64_t whole_ns = 0;
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (!is_operator(i)) continue;
    calls_operators[trace.apis.thread[i]] = true;
    sums[trace.apis.label[i]] += trace.api_ns(i);
    const trace::Row parent = tree.nearest(tree.parent[i], is_operator);
    if (parent == kNone) {
      whole_ns += trace.api_ns(i);
    } else {
      sums[trace.apis.label[static_cast<size_t>(parent)]] -= trace.api_ns(i);
    }
  }
  size_t largest = trace.empty_name;
  for (size_t name = 0; name < sums.size(); ++name) {
    const bool is_larger = sums[name] > sums[largest] || (sums[name] == sums[largest] &&
                                                          trace.names[name] < trace.names[largest]);
    if (is_larger) largest = name;
  }
  const double share = percentage_of(sums[largest], whole_ns);
  if (share < kMostPercentage) return;
  findings.push_back(make_finding(
      kOperatorRule, sums[largest],
      time_of_threads(trace, [&](size_t thread) { return calls_operators[thread]; }),
      fmt::format("{}: {}, {:.1f} % of the operators' time", short_name_of(trace.names[largest]),
                  time_text(sums[largest]), share)));
}

void add_data_loading(const trace::Trace& trace, Findings& findings) {
  std::vector<trace::IntervalSet> loading(trace.threads.size());
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.apis.kind[i] != ApiKind::kMarker) continue;
    const std::string& label = trace.names[trace.apis.label[i]];
    if (label.find("DataLoader") == label.npos) continue;
    extend(loading[trace.apis.thread[i]], {trace.apis.start_ns[i], trace.apis.end_ns[i]});
  }
  int64_t loading_ns = 0;
  for (const trace::IntervalSet& set : loading) loading_ns += trace::length_ns(set);
  if (loading_ns == 0) return;
  const int64_t whole_ns =
      time_of_threads(trace, [&](size_t thread) { return !loading[thread].empty(); });
  findings.push_back(make_finding(
      kDataRule, loading_ns, whole_ns,
      fmt::format("{} of {} are in data loaders", time_text(loading_ns), time_text(whole_ns))));
}

}  // namespace

std::vector<const Rule*> cpu_rules() {
  return {&kFunctionRule, &kLineRule, &kOperatorRule, &kDataRule};
}

void add_cpu_findings(const trace::Trace& trace, Findings& findings) {
  add_samples(trace, findings);
  add_operators(trace, findings);
  add_data_loading(trace, findings);
}

}  // namespace sonde::analysis
