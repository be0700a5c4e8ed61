#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "analysis/findings/rules.h"
#include "analysis/time/host_time.h"
#include "analysis/time/idle_gaps.h"
#include "base/printable.h"

namespace sonde::analysis {
namespace {

using trace::IntervalSet;
using trace::kNone;
using trace::Row;

constexpr int64_t kLaunchLatencyNs = 30'000;  // the default of sonde idle --latency
constexpr double kHalf = 0.5;

constexpr std::array<Rule, kIdleReasons> kIdleRules = [] {
  std::array<Rule, kIdleReasons> rules{};
  rules[static_cast<size_t>(IdleReason::kSync)] = {
      "waits", "GPUs are idle because the program waits for them before it launches more",
      "Remove synchronisations from the loop: .item(), .cpu(), printing tensors, explicit device "
      "synchronisation; copy to the host asynchronously. sonde idle lists the longest.",
      "the idle time with reason sync in sonde idle", "all of it"};
  rules[static_cast<size_t>(IdleReason::kLaunchBound)] = {
      "launch-bound", "GPUs are idle because the program launches work too late",
      "Give each launch more to do, or launch less often: larger batches, fused operators "
      "(torch.compile), HIP or CUDA graphs, data loading in other processes. sonde sequences shows "
      "what could be fused, sonde operators where the launches come from.",
      "the idle time with reason launch-bound in sonde idle", "all of it"};
  rules[static_cast<size_t>(IdleReason::kLaunchLatency)] = {
      "launch-latency", "GPUs are idle between a launch and its start",
      "Many short kernels pay this each time: graphs or fusion reduce the number of launches. "
      "sonde launches shows the time in the queue.",
      "the idle time with reason launch latency in sonde idle",
      "all of it, which graphs nearly achieve"};
  rules[static_cast<size_t>(IdleReason::kDependency)] = {
      "stream-waits", "GPUs are idle because a stream waits for another",
      "Look at what the event waits for, and whether independent work could run meanwhile. sonde "
      "critical-path shows the chain.",
      "the idle time with reason dependency in sonde idle",
      "half of it, as if half of the other work could be moved"};
  rules[static_cast<size_t>(IdleReason::kOther)] = {
      "slow-start", "GPUs are idle although their next work has been launched",
      "The launching call returned early, so look for what the work waited for: another GPU (the "
      "stage before it in a pipeline, a copy between GPUs), an event that the file does not show, "
      "or another process on the GPU.",
      "the idle time with reason other in sonde idle (launched but not started), without slow-call and "
      "graph-gaps",
      "all of it"};
  rules[static_cast<size_t>(IdleReason::kUnlinked)] = {
      "idle-unexplained", "GPUs are idle, and the file does not have the calls that would say why",
      "Record host calls too, starting before the work begins: sonde record does so, "
      "torch.profiler with ProfilerActivity.CPU.",
      "the idle time with reason unlinked in sonde idle", "all of it"};
  return rules;
}();

// A program that waits for the GPU cannot launch ahead, however fast it launches.
constexpr const Rule& kLaunchRule = kIdleRules[static_cast<size_t>(IdleReason::kLaunchBound)];
constexpr Rule kLaunchAfterWaitRule = {
    kLaunchRule.id, kLaunchRule.title,
    "Let the program launch ahead: take what waits for the GPU out of the loop (.item(), .cpu(), "
    "printing tensors, synchronisation), or do it only every so many steps. If it still launches "
    "too late, larger batches, fused operators (torch.compile) or graphs help. sonde idle lists "
    "the longest waits.",
    kLaunchRule.definition, kLaunchRule.saving};

// Of reason other: the launching call had not returned yet.
constexpr Rule kCallRule = {
    "slow-call", "GPUs are idle while the call that launches their next work runs",
    "A kernel's first launch loads or compiles its code: warm up first, or load early "
    "(HIP_ENABLE_DEFERRED_LOADING=0, CUDA_MODULE_LOADING=EAGER). Later launches wait if the queue "
    "is full, and a copy from pageable memory waits until the CPU has staged it: pin that. sonde "
    "launches lists the slow calls.",
    "gaps with reason other in sonde idle, at least half of which the launching call takes",
    "all of it"};

// Of reason launch latency or other: one call launched both operations, so fewer launches would not
// help, and the second one waits for nothing outside of the graph.
constexpr Rule kGraphRule = {
    "graph-gaps", "GPUs are idle between the operations of one graph",
    "Give the graph's kernels more to do, fuse them, or let branches of the graph that do not "
    "depend on each other run at the same time; a host function in the graph holds it up, too. "
    "sonde sequences shows what could be fused.",
    "the idle time with reason launch latency or other in sonde idle between operations that one "
    "call launched, without slow-call",
    "half of it, as if half of the gaps were gone"};

// Of reason launch-bound: the cause is what the launching thread did, and fewer launches would not
// help.
constexpr Rule kCodeRule = {
    "code-loading", "GPUs are idle while the program loads or compiles code for them",
    "Do it before the work begins: run each kernel once, or load early "
    "(HIP_ENABLE_DEFERRED_LOADING=0, CUDA_MODULE_LOADING=EAGER); keep compiled kernels in a cache "
    "between runs, and avoid new shapes in the loop (pad them, or torch.compile with "
    "dynamic=True).",
    "gaps with reason launch-bound in sonde idle, at least half of whose time is in calls that "
    "load modules or compile, or in the compilers of torch.compile and Triton",
    "all of it"};
constexpr Rule kMemoryRule = {
    "memory-calls", "GPUs are idle while the program is in a call that allocates or frees memory",
    "Allocate once, outside of the loop, and reuse the memory; freeing also waits for the device. "
    "hipMallocAsync, hipFreeAsync and the like use a pool. sonde memory shows where.",
    "gaps with reason launch-bound in sonde idle, at least half of whose time is in calls that "
    "allocate or free memory",
    "all of it"};
constexpr Rule kHostRule = {
    "host-work", "GPUs are idle while the program works on the host",
    "Make the function that the evidence names faster, do it before the loop, or let another "
    "thread, process or the GPU do its work: the tensors of an operator that launches nothing may "
    "be on the CPU. sonde idle lists the gaps, sonde stacks where the time goes.",
    "gaps with reason launch-bound in sonde idle, at least half of which is one Python function, "
    "if they last 1 ms or more, or one operator or runtime function, if it runs for 0.5 ms or more "
    "without interruption, or operators that launch nothing and run for 50 us or more without "
    "interruption, if these times are 0.5 ms or more together",
    "all of it"};
constexpr Rule kBlockedRule = {
    "host-blocked",
    "GPUs are idle while the program waits for input, another thread or process, or a timer",
    "If it waits for requests, there is nothing to speed up: send more of them, or let more "
    "programs share the GPU. Otherwise look at what holds up the thread or process that it waits "
    "for; in a collective of the host (gloo, MPI), at the rank that comes late. sonde idle lists the "
    "gaps, sonde stacks shows what other threads do, sonde collectives who waited for whom.",
    "gaps of 1 ms or more with reason launch-bound in sonde idle, for at least half of which the "
    "launching thread is blocked: in select, poll, accept, recv, sleep, collectives and transfers of "
    "gloo and MPI, or waits for locks, conditions, queues, threads and processes",
    "all of it"};
constexpr Rule kUnknownRule = {
    "host-unknown",
    "GPUs are idle for long while no call of the thread that launches their work was recorded",
    "Find out what it does: record call stacks (sonde record, or torch.profiler with "
    "with_stack=True), or mark the parts of the loop, smaller ones where it has ranges. If "
    "recording was paused meanwhile, look at one part (--from, --to). sonde idle lists the gaps.",
    "gaps of 1 ms or more with reason launch-bound in sonde idle, for at least half of which the "
    "launching thread is in no recorded call, or only in a marker",
    "all of it"};
constexpr int64_t kLongGapNs = 1'000'000;  // no interpreter takes that long to launch

std::string name_text(const trace::Trace& trace, Row op) {
  if (op == kNone) return "the end of the window";
  return printable(short_name_of(trace.names[trace.label(static_cast<size_t>(op))]));
}

// How often a process launches operations for a GPU: what its host can do. Of several the mean.
std::string launch_rate(const trace::Trace& trace) {
  struct Launches {
    int64_t count = 0, first_ns = 0, last_ns = 0;
    Row last = kNone;
  };
  std::map<std::pair<int32_t, int64_t>, Launches> by_gpu;  // of a process
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const Row api = trace.ops.api[op];
    if (api == kNone) continue;
    Launches& launches = by_gpu[{trace.ops.process[op], trace.ops.gpu[op]}];
    if (api == launches.last) continue;
    const int64_t time_ns = trace.apis.start_ns[static_cast<size_t>(api)];
    launches.first_ns = launches.count == 0 ? time_ns : std::min(launches.first_ns, time_ns);
    launches.last_ns = launches.count == 0 ? time_ns : std::max(launches.last_ns, time_ns);
    launches.last = api;
    ++launches.count;
  }
  int64_t total_ns = 0, count = 0;
  for (const auto& [gpu, launches] : by_gpu) {
    total_ns += launches.last_ns - launches.first_ns;
    count += launches.count - 1;
  }
  if (total_ns == 0) return "";
  return fmt::format("; a launch every {}{}", time_text(total_ns / count),
                     by_gpu.size() == 1 ? "" : " on each GPU");
}

std::string waits_text(int64_t after_waits_ns, int64_t total_ns) {
  return fmt::format(
      "; {:.0f} % of this time follows calls that wait for the GPU (.item(), "
      "synchronize), which keep the program from launching ahead",
      100.0 * static_cast<double>(after_waits_ns) / static_cast<double>(total_ns));
}

// Whether the launching call took the time, or had returned before.
std::string launch_text(const trace::Trace& trace, const Gap& gap) {
  const auto api = static_cast<size_t>(trace.ops.api[static_cast<size_t>(gap.next)]);
  return fmt::format(", whose {} returned after {}", trace.names[trace.apis.name[api]],
                     time_text(trace.api_ns(api)));
}

std::vector<const Rule*> idle_rules() {
  std::vector<const Rule*> rules;
  for (const Rule& rule : kIdleRules) {
    if (rule.id != nullptr) rules.push_back(&rule);
  }
  rules.insert(rules.end(), {&kCallRule, &kGraphRule, &kCodeRule, &kMemoryRule, &kHostRule,
                             &kBlockedRule, &kUnknownRule});
  return rules;
}

// How much of the gap the call took that launched what ends it.
int64_t launching_ns(const trace::Trace& trace, const Gap& gap) {
  const auto api = static_cast<size_t>(trace.ops.api[static_cast<size_t>(gap.next)]);
  return std::min(trace.apis.end_ns[api], gap.time.end_ns) -
         std::max(trace.apis.start_ns[api], gap.time.start_ns);
}

// Whether the finding on allocations is about what took the gap, and this one about the rest of it.
bool is_allocations(const trace::Trace& trace, const Gap& gap, const Claims& claims) {
  return (gap.host.work == trace::HostWork::kFree ||
          gap.host.work == trace::HostWork::kAllocation) &&
         trace::is_memory_call(trace.names[gap.host.label]) &&
         std::any_of(claims.begin(), claims.end(), [](const Claim& claim) {
           return std::string_view(claim.rule->id) == "allocations";
         });
}

const Rule* rule_of(const trace::Trace& trace, const Gap& gap, const Claims& claims) {
  const Rule& of_reason = kIdleRules[static_cast<size_t>(gap.reason)];
  const int64_t length_ns = gap.time.end_ns - gap.time.start_ns;
  if (gap.reason == IdleReason::kOther && launching_ns(trace, gap) >= length_ns / 2) {
    return &kCallRule;
  }
  if ((gap.reason == IdleReason::kLaunchLatency || gap.reason == IdleReason::kOther) &&
      gap.previous != kNone &&
      trace.ops.api[static_cast<size_t>(gap.previous)] ==
          trace.ops.api[static_cast<size_t>(gap.next)]) {
    return &kGraphRule;
  }
  if (gap.reason != IdleReason::kLaunchBound || gap.host.time_ns < length_ns / 2) {
    return of_reason.id == nullptr ? nullptr : &of_reason;
  }
  switch (gap.host.work) {
    case trace::HostWork::kModuleLoad:
    case trace::HostWork::kCompiling:
      return &kCodeRule;
    case trace::HostWork::kFree:
    case trace::HostWork::kAllocation:
      return is_allocations(trace, gap, claims) ? &of_reason : &kMemoryRule;
    case trace::HostWork::kBlocked:
      return length_ns >= kLongGapNs ? &kBlockedRule : &of_reason;
    case trace::HostWork::kPython:
      return length_ns >= kLongGapNs ? &kHostRule : &of_reason;
    case trace::HostWork::kOperator:
    case trace::HostWork::kCall:  // not many short ones
      return gap.host.longest_ns >= kLongGapNs / 2 ? &kHostRule : &of_reason;
    case trace::HostWork::kRange:
    case trace::HostWork::kNothing:
      return length_ns >= kLongGapNs ? &kUnknownRule : &of_reason;
    default:
      return &of_reason;
  }
}

// What another thread of the process did for half of the gap or more.
std::string other_thread_text(const trace::Trace& trace, const HostTime& host, const Gap& gap) {
  const Row launcher = host.launchers().thread_of(host.launchers().awaited(gap.next));
  if (launcher == kNone) return "";
  const auto of = static_cast<size_t>(launcher);
  HostDeed longest{.time_ns = (gap.time.end_ns - gap.time.start_ns) / 2};
  size_t who = of;
  for (size_t thread = 0; thread < trace.threads.size(); ++thread) {
    if (thread == of || trace.threads[thread].process != trace.threads[of].process) continue;
    for (const HostDeed& deed : host.deeds_in(static_cast<uint32_t>(thread), gap.time)) {
      const bool is_known = deed.work != trace::HostWork::kNothing &&
                            deed.work != trace::HostWork::kBlocked &&
                            !trace.names[deed.label].empty();
      if (!is_known || deed.time_ns < longest.time_ns) continue;
      longest = deed;
      who = thread;
    }
  }
  if (who == of) return "";
  return fmt::format("; it may have waited for thread {}, which was in {} for {} of it",
                     trace.threads[who].tid, printable(short_name_of(trace.names[longest.label])),
                     time_text(longest.time_ns));
}

std::string host_text(const trace::Trace& trace, const HostTime& host, const Gap& gap) {
  const std::string& label = trace.names[gap.host.label];
  if (gap.host.work == trace::HostWork::kNothing) return other_thread_text(trace, host, gap);
  if (gap.host.time_ns == 0 || label.empty()) return "";
  return fmt::format("; {} of it in {}{}", time_text(gap.host.time_ns), short_name_of(label),
                     gap.host.with_others ? " and similar calls" : "");
}

// The gaps of a rule.
struct Sum {
  int64_t gaps = 0, total_ns = 0, after_waits_ns = 0, longest_ns = 0;
  const Gap* longest = nullptr;  // of those that are cited
  Lanes lanes;
};

void add_idle(const Evidence& evidence, const HostTime& host, std::span<const Gap> gaps,
              Claims& claims) {
  const trace::Trace& trace = evidence.trace;
  const auto length = [](const Gap& gap) { return gap.time.end_ns - gap.time.start_ns; };
  // Findings of their own are about data loaders, garbage collection and allocations, so others are
  // cited first.
  const auto weight = [&](const Gap& gap) {
    const bool is_others =
        may_be_of_host(gap.reason) &&
        (gap.host.work <= trace::HostWork::kCollection || is_allocations(trace, gap, claims));
    return std::pair(!is_others, length(gap));
  };
  std::map<const Rule*, Sum> sums;
  const Gap* before = nullptr;
  for (const Gap& gap : gaps) {
    const bool is_after_wait = before != nullptr && before->reason == IdleReason::kSync &&
                               before->gpu == gap.gpu && before->time.end_ns == gap.time.start_ns;
    before = &gap;
    const Rule* rule = rule_of(trace, gap, claims);
    if (rule == nullptr || !evidence.gpus.contains(gap.gpu)) continue;
    Sum& sum = sums[rule];
    ++sum.gaps;
    sum.total_ns += length(gap);
    sum.longest_ns = std::max(sum.longest_ns, length(gap));
    if (is_after_wait) sum.after_waits_ns += length(gap);
    sum.lanes[gap.gpu].push_back(gap.time);
    if (sum.longest == nullptr || weight(gap) > weight(*sum.longest)) sum.longest = &gap;
  }
  for (const Rule* rule : idle_rules()) {  // not by address
    const auto found = sums.find(rule);
    if (found == sums.end()) continue;
    Sum& sum = found->second;
    const IdleReason reason = sum.longest->reason;
    std::string text =
        fmt::format("{} gap{}, {} on average; the longest{}, {}{}, ends with {}", sum.gaps,
                    sum.gaps == 1 ? "" : "s", time_text(sum.total_ns / sum.gaps),
                    length(*sum.longest) == sum.longest_ns
                        ? ""
                        : " without data loading, garbage collection or allocations",
                    time_text(length(*sum.longest)),
                    evidence.gpus.size() == 1 ? "" : fmt::format(" on GPU {}", sum.longest->gpu),
                    name_text(trace, sum.longest->next));
    const bool is_dependency = reason == IdleReason::kDependency;
    if (is_dependency || reason == IdleReason::kOther) text += launch_text(trace, *sum.longest);
    if (reason == IdleReason::kLaunchBound) text += host_text(trace, host, *sum.longest);
    if (rule == &kLaunchRule) {
      text += launch_rate(trace);
      if (sum.after_waits_ns >= sum.total_ns / 2) {
        text += waits_text(sum.after_waits_ns, sum.total_ns);
        rule = &kLaunchAfterWaitRule;
      }
    }
    for (auto& [gpu, set] : sum.lanes) trace::normalise(set);
    const double part =
        (is_dependency || rule == &kGraphRule ? kHalf : 1.0) * part_to_save(evidence, sum.lanes);
    text += bound_text(evidence, sum.lanes);
    claims.push_back({rule, std::move(sum.lanes), part, std::move(text)});
  }
}

}  // namespace

std::vector<const Rule*> host_rules() {
  std::vector<const Rule*> rules = idle_rules();
  const std::vector<const Rule*> more = range_rules();
  rules.insert(rules.end(), more.begin(), more.end());
  return rules;
}

void add_host_claims(const Evidence& evidence, Claims& claims) {
  const HostTime host(evidence.trace);
  const std::vector<Gap> gaps = idle_gaps(evidence.trace, host, kLaunchLatencyNs);
  add_range_claims(evidence, gaps, claims);
  add_idle(evidence, host, gaps, claims);
}

}  // namespace sonde::analysis
