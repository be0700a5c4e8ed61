#include "analysis/time/host_time.h"

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/own_copies.h"
#include "analysis/time/gpu_time.h"
#include "trace/op_tree.h"

namespace sonde::analysis {

using trace::HostWork;
using trace::Interval;
using trace::kNone;
using trace::Row;

std::string text_of(const trace::Trace& trace, const HostDeed& deed) {
  const std::string& label = trace.names[deed.label];
  if (deed.with_others)
    return std::string(trace::purpose_name(deed.work)) + ": " + label + " and others";
  const std::string work = trace::host_work_name(deed.work);
  return label.empty() ? work : work + ": " + label;
}

HostTime::HostTime(const trace::Trace& trace)
    : trace_(trace), launchers_(trace), parts_(trace.threads.size()), waits_(trace.threads.size()) {
  find_purposes();
  find_waits();
  trace::visit_innermost(
      trace, [](size_t) { return true; },
      [&](Row row, Interval time) {
        std::vector<Part>& parts = parts_[trace.apis.thread[static_cast<size_t>(row)]];
        parts.push_back({time, named_[static_cast<size_t>(row)]});
      });
}

// Callers come before what they called.
void HostTime::find_purposes() {
  parent_ = trace::build_op_tree(trace_).parent;
  work_.resize(trace_.apis.size());
  named_.resize(trace_.apis.size());
  for (size_t i = 0; i < work_.size(); ++i) {
    const Row parent = parent_[i];
    const auto up = static_cast<size_t>(parent);
    const std::string& label = trace_.names[trace_.apis.label[i]];
    work_[i] = trace::host_work_of(trace_.apis.kind[i], label);
    named_[i] = static_cast<Row>(i);
    if (parent == kNone || !trace::is_part_of(work_[i], label, work_[up])) continue;
    work_[i] = work_[up];
    named_[i] = named_[up];
  }
}

void HostTime::find_waits() {
  const trace::Apis& apis = trace_.apis;
  std::vector<bool> is_sync;
  for (const std::string& name : trace_.names) is_sync.push_back(trace::is_sync_call(name));
  std::vector<bool> awaits(apis.size(), false);
  for (size_t op = 0; op < trace_.ops.api.size(); ++op) {
    if (is_awaited_by_its_call(trace_, op)) awaits[static_cast<size_t>(trace_.ops.api[op])] = true;
  }
  for (size_t i = 0; i < apis.size(); ++i) {
    if (apis.kind[i] != trace::ApiKind::kRuntime) continue;
    const bool blocks = awaits[i] || (!apis.blocks.empty() && apis.blocks[i] != 0);
    if (!blocks && !is_sync[apis.name[i]]) continue;
    if (work_[i] == HostWork::kCall) work_[i] = HostWork::kWaiting;
    extend(waits_[apis.thread[i]], {apis.start_ns[i], apis.end_ns[i]});
  }
}

std::vector<HostTime::Part>::const_iterator HostTime::first_part_after(
    const std::vector<Part>& parts, int64_t time_ns) {
  return std::partition_point(parts.begin(), parts.end(),
                              [&](const Part& one) { return one.time.end_ns <= time_ns; });
}

std::vector<HostDeed> HostTime::deeds_in(uint32_t thread, Interval time) const {
  const std::vector<Part>& parts = parts_[thread];
  auto part = first_part_after(parts, time.start_ns);
  std::map<std::pair<trace::NameId, HostWork>, HostDeed> deeds;
  int64_t rest_ns = time.end_ns - time.start_ns;
  for (; part != parts.end() && part->time.start_ns < time.end_ns; ++part) {
    const auto api = static_cast<size_t>(part->api);
    const int64_t length_ns =
        std::min(part->time.end_ns, time.end_ns) - std::max(part->time.start_ns, time.start_ns);
    HostDeed& deed = deeds[{trace_.apis.label[api], work_[api]}];
    deed.work = work_[api];
    deed.label = trace_.apis.label[api];
    deed.time_ns += length_ns;
    deed.longest_ns = std::max(deed.longest_ns, length_ns);
    rest_ns -= length_ns;
  }
  std::vector<HostDeed> found;
  for (const auto& [key, deed] : deeds) found.push_back(deed);
  if (rest_ns > 0) found.push_back({HostWork::kNothing, trace_.empty_name, rest_ns, rest_ns});
  return found;
}

bool HostTime::is_of_process(Row thread, Row of) const {
  return trace_.threads[static_cast<size_t>(thread)].process ==
         trace_.threads[static_cast<size_t>(of)].process;
}

// The call that launched it, or what it was made ahead for.
Row HostTime::launch_of(Row op) const {
  const Row awaited = launchers_.awaited(op);
  return launchers_.thread_of(awaited) == kNone ? kNone
                                                : trace_.ops.api[static_cast<size_t>(awaited)];
}

std::vector<HostDeed> HostTime::deeds_between(Row first, Row second, Interval time,
                                              Row launch) const {
  const auto sum_of = [](const std::vector<HostDeed>& deeds, auto counts) {
    int64_t sum_ns = 0;
    for (const HostDeed& deed : deeds) sum_ns += counts(deed.work) ? deed.time_ns : 0;
    return sum_ns;
  };
  const auto is_nothing = [](HostWork work) {
    return work == HostWork::kNothing || work == HostWork::kBlocked;
  };
  const auto is_something = [&](HostWork work) {
    return !is_nothing(work) && work != HostWork::kWaiting;
  };
  if (launch == kNone) launch = launch_of(second);
  if (launch == kNone) return {};
  const auto thread = static_cast<Row>(trace_.apis.thread[static_cast<size_t>(launch)]);
  const int64_t half_ns = (time.end_ns - time.start_ns) / 2;
  std::vector<HostDeed> found = deeds_in(static_cast<uint32_t>(thread), time);
  if (sum_of(found, is_nothing) <= half_ns) return found;
  for (const Row other : {launchers_.thread_of(second), launchers_.thread_of(first)}) {
    if (other == kNone || other == thread || !is_of_process(other, thread)) continue;
    std::vector<HostDeed> deeds = deeds_in(static_cast<uint32_t>(other), time);
    if (sum_of(deeds, is_something) > half_ns) return deeds;
  }
  return found;
}

HostDeed HostTime::longest_of(const std::vector<HostDeed>& all) const {
  const auto is_longer = [&](const HostDeed& one, const HostDeed& other) {
    return one.time_ns > other.time_ns || (one.time_ns == other.time_ns && one.time_ns > 0 &&
                                           trace_.names[one.label] < trace_.names[other.label]);
  };
  std::map<HostWork, std::vector<HostDeed>> by_purpose;
  HostDeed longest;
  for (const HostDeed& deed : all) {
    if (trace::has_a_purpose(deed.work)) {
      by_purpose[trace::purpose_of(deed.work)].push_back(deed);
    } else if (is_longer(deed, longest)) {
      longest = deed;
    }
  }
  for (const auto& [purpose, deeds] : by_purpose) {
    HostDeed main;
    int64_t total_ns = 0;
    for (const HostDeed& deed : deeds) {
      if (is_longer(deed, main)) main = deed;
      total_ns += deed.time_ns;
    }
    main.time_ns = total_ns;
    main.with_others = deeds.size() > 1;
    if (is_longer(main, longest)) longest = main;
  }
  return longest;
}

// By call, with what it called; only of calls that end before the launch. Callers come before what
// they called.
std::map<Row, int64_t> HostTime::times_before(Row launch, Interval time) const {
  const trace::Apis& apis = trace_.apis;
  const auto at = static_cast<size_t>(launch);
  const std::vector<Part>& parts = parts_[apis.thread[at]];
  auto part = first_part_after(parts, time.start_ns);
  std::map<Row, int64_t> times;
  for (; part != parts.end() && part->time.start_ns < time.end_ns; ++part) {
    times[part->api] +=
        std::min(part->time.end_ns, time.end_ns) - std::max(part->time.start_ns, time.start_ns);
  }
  for (auto next = times.rbegin(); next != times.rend(); ++next) {
    const auto api = static_cast<size_t>(next->first);
    if (apis.end_ns[api] >= apis.end_ns[at]) {
      next->second = 0;  // and so does what is around it
    } else if (parent_[api] != kNone) {
      times[parent_[api]] += next->second;
    }
  }
  return times;
}

HostDeed HostTime::function_of_half(Row launch, Interval time) const {
  const trace::Apis& apis = trace_.apis;
  struct Function {
    int64_t time_ns = 0, until_ns = std::numeric_limits<int64_t>::min();
  };
  std::map<trace::NameId, Function> functions;
  for (const auto& [row, time_ns] : times_before(launch, time)) {
    const auto api = static_cast<size_t>(row);
    if (time_ns == 0 || work_[api] != HostWork::kPython) continue;
    Function& function = functions[apis.label[api]];
    if (apis.end_ns[api] <= function.until_ns) continue;  // it called itself
    function.until_ns = apis.end_ns[api];
    function.time_ns += time_ns;
  }
  HostDeed least;
  for (const auto& [label, function] : functions) {
    if (function.time_ns < (time.end_ns - time.start_ns) / 2) continue;
    if (least.time_ns != 0 && function.time_ns >= least.time_ns) continue;
    least = {HostWork::kPython, label, function.time_ns, function.time_ns};
  }
  return least;
}

HostDeed HostTime::operators_of_half(Row launch, Interval time) const {
  constexpr int64_t kComputesNs = 50'000;  // what only prepares a launch, or makes views, is faster
  const trace::Apis& apis = trace_.apis;
  std::map<trace::NameId, int64_t> times;
  HostDeed all{.work = HostWork::kOperator};
  int64_t most_ns = 0;
  const std::vector<Part>& parts = parts_[apis.thread[static_cast<size_t>(launch)]];
  for (auto part = first_part_after(parts, time.start_ns);
       part != parts.end() && part->time.start_ns < time.end_ns; ++part) {
    const auto api = static_cast<size_t>(part->api);
    const int64_t length_ns =
        std::min(part->time.end_ns, time.end_ns) - std::max(part->time.start_ns, time.start_ns);
    if (work_[api] != HostWork::kOperator || length_ns < kComputesNs) continue;
    if (apis.end_ns[api] >= apis.end_ns[static_cast<size_t>(launch)]) continue;
    const int64_t of_label_ns = times[apis.label[api]] += length_ns;
    all.time_ns += length_ns;
    if (of_label_ns <= most_ns) continue;
    most_ns = of_label_ns;
    all.label = apis.label[api];
  }
  if (all.time_ns < (time.end_ns - time.start_ns) / 2) return {};
  all.longest_ns = all.time_ns;
  all.with_others = times.size() > 1;
  return all;
}

HostDeed HostTime::main_deed_between(Row first, Row second, Interval time, Row launch) const {
  if (launch == kNone) launch = launch_of(second);
  const HostDeed longest = longest_of(deeds_between(first, second, time, launch));
  const bool is_half = longest.time_ns >= (time.end_ns - time.start_ns) / 2;
  if (launch == kNone || (is_half && longest.work != HostWork::kOperator)) return longest;
  const HostDeed around = is_half ? HostDeed() : function_of_half(launch, time);
  if (around.time_ns != 0) return around;
  const HostDeed computing = operators_of_half(launch, time);
  return computing.time_ns != 0 ? computing : longest;
}

}  // namespace sonde::analysis
