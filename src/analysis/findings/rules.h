// What the rules of findings.h share. Each file of rules claims time, however little; rank.cpp
// gives each moment to one claim and estimates what it could save. Private to the findings.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/collectives/collectives.h"
#include "analysis/findings/findings.h"
#include "analysis/time/gpu_time.h"
#include "analysis/time/idle_gaps.h"

namespace sonde::analysis {

// What a rule says; the figures come from the trace.
struct Rule {
  const char* id;
  const char* title;
  const char* advice;
  const char* definition;    // what its time is
  const char* saving;        // what of it could be saved
  bool is_specific = false;  // takes its time before rules that only say what was idle or exposed
};

// Time by GPU, or by thread in a trace without operations.
using Lanes = std::map<int64_t, trace::IntervalSet>;

// A rule and the time that it is about, in one trace: there is one claim of a rule in each.
struct Claim {
  const Rule* rule = nullptr;
  Lanes at_stake;    // normalised
  double saved = 1;  // the share of it that could be saved
  std::string evidence;
  // Gets a line even where no rule says how to save it: the work that it is about takes most of the
  // time, whatever runs beside it, or a good part of it can be no figure.
  bool is_notable = false;
  bool is_of_job = false;  // the evidence is about all traces together
};
using Claims = std::vector<Claim>;

// The GPUs of a trace without those that worked for less than a hundredth of the busiest GPU's
// time: these have no work that could be done sooner.
std::map<int64_t, GpuTime> used_gpus(const trace::Trace& trace);

// What the rules look at.
struct Evidence {
  const trace::Trace& trace;
  const std::map<int64_t, GpuTime> gpus;  // used_gpus()
  Breakdown all;                          // summed over GPUs
  // What of the idle time of a GPU could be saved at most, where its process has several: none of
  // them can be done sooner than the one with most work.
  struct Bound {
    double part = 1;
    int64_t busiest = 0;       // that GPU
    double busiest_share = 0;  // of its time
  };
  std::map<int64_t, Bound> idle_bounds;  // by GPU; only where one is known
  explicit Evidence(const trace::Trace& trace);
  // When an operation of a category ran on one of these GPUs; empty for other GPUs.
  const trace::IntervalSet& set_of(int64_t gpu, trace::Category category) const {
    static const trace::IntervalSet kNothing;
    const auto found = gpus.find(gpu);
    return found == gpus.end() ? kNothing : found->second.sets[static_cast<size_t>(category)];
  }
};

int64_t length_ns(const Lanes& lanes);
// The part of idle time that Evidence::idle_bounds leave, and a remark if that is far from all.
double part_to_save(const Evidence& evidence, const Lanes& idle);
std::string bound_text(const Evidence& evidence, const Lanes& idle);
std::string time_text(int64_t ns);
std::string short_name_of(const std::string& name);

// The findings of claims (by trace), of time whose whole is `wall_ns`.
std::vector<Finding> ranked(std::span<const Claims> claims, int64_t wall_ns,
                            std::span<const trace::Trace> traces);

// host.cpp: what programs do while GPUs are idle.
std::vector<const Rule*> host_rules();
void add_host_claims(const Evidence& evidence, Claims& claims);
// host_ranges.cpp: the same for data loaders, allocations and garbage collection; with the idle
// time of all GPUs.
std::vector<const Rule*> range_rules();
// Whether a GPU may have been idle because of what the host did meanwhile: not if the next
// operation had been launched, or none is known to follow.
bool may_be_of_host(IdleReason reason);
void add_range_claims(const Evidence& evidence, std::span<const Gap> gaps, Claims& claims);
// work.cpp: communication and copies that nothing hides.
std::vector<const Rule*> work_rules();
void add_work_claims(const Evidence& evidence, Claims& claims);
// kernels.cpp: what runs.
std::vector<const Rule*> kernel_rules();
void add_kernel_claims(const Evidence& evidence, Claims& claims);
// counters.cpp: what counters say of the hot kernels.
std::vector<const Rule*> counter_rules();
void add_counter_claims(const Evidence& evidence, Claims& claims);
// balance.cpp: GPUs of a process with unequal work. Returns the time that the claim is about and
// that is before the first or after the last operation of its GPU.
std::vector<const Rule*> balance_rules();
int64_t add_balance_claims(const Evidence& evidence, Claims& claims);
// The GPUs that stand still while a collective waits: its own, or those of the process whose host
// calls it.
class WaitingGpus {
 public:
  explicit WaitingGpus(std::span<const trace::Trace> traces) : traces_(traces) {}
  const std::vector<int64_t>& of(const Collective& one);

 private:
  std::span<const trace::Trace> traces_;
  std::map<std::pair<size_t, int64_t>, std::vector<int64_t>> of_gpu_, of_process_;  // by file
};

// ranks.cpp: which rank waits for which, over all traces.
std::vector<const Rule*> rank_rules();
void add_rank_claims(std::span<const trace::Trace> traces, std::span<Claims> claims);
// late_rank.cpp: what a late rank does longer than the others before its collectives, of what
// claims say of hosts, and of kernels; "" where that explains less than half of its lateness.
std::string late_deed_text(const Collectives& all, const Matched& matched, const Lateness& late,
                           std::span<const trace::Trace> traces, std::span<const Claims> claims);
// cpu.cpp: traces without device operations. Returns the threads' time that the
// claims are about.
std::vector<const Rule*> cpu_rules();
int64_t add_cpu_claims(const trace::Trace& trace, Claims& claims);
// A note if there are too few samples for a claim; "" if there are enough, or none.
std::string few_samples_text(const trace::Trace& trace);

}  // namespace sonde::analysis
