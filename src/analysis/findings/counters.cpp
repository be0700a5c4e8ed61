// Findings from the hardware counters of the kernels that take most of the time.
#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "metrics/causes.h"
#include "metrics/workload/trace.h"

namespace sonde::analysis {
namespace {

using metrics::CauseKind;

constexpr Rule kSmallLaunchRule = {
    "small-launches",
    "Kernels have too few waves to fill the GPU",
    "Launch more work at once: a larger batch, or several such kernels together. sonde sol shows the "
    "counters of each kernel.",
    "the time of hot kernels with fewer waves than the GPU has SIMDs, by their counters",
    "the share of SIMDs without a wave, at most half",
    true};
constexpr Rule kConflictRule = {
    "bank-conflicts",
    "Kernels stall on LDS bank conflicts",
    "Lay out LDS so that lanes use different banks: pad each tile row by a word, or swizzle. sonde "
    "sol --panel 12 shows the LDS.",
    "the time of hot kernels that lose at least a tenth of their cycles to bank conflicts and are "
    "not bound by another resource",
    "those cycles",
    true};
constexpr Rule kScatterRule = {
    "uncoalesced-access",
    "Kernels access memory without coalescing",
    "Let neighbouring lanes use neighbouring elements: change the loop order or the data layout, "
    "or stage the data in LDS. sonde sol --panel 16 shows the vL1D.",
    "the time of hot kernels that use memory or caches most, whose memory instructions take 40 "
    "accesses to the vL1D or more",
    "what accesses beyond 16 take, at most half",
    true};
constexpr Rule kOccupancyRule = {
    "low-occupancy",
    "Registers or LDS limit occupancy to too few waves",
    "Use fewer registers (launch bounds, smaller tiles, less unrolling) or less LDS per work "
    "group. sonde sol --panel 6 shows what waves waited for.",
    "the time of hot kernels that use no resource for 60 % of its peak, where waves waited for "
    "vector registers or LDS in a tenth of the cycles or more",
    "what is missing to 60 % of the nearest peak, at most half",
    true};
constexpr Rule kLatencyRule = {
    "latency-bound",
    "Kernels are bound by latency, not by a resource",
    "Keep more independent loads in flight: unroll loops, prefetch, give each lane more elements. "
    "sonde sol shows which resource is nearest to its peak.",
    "the time of hot kernels of 10 us or more that use no resource for 60 % of its peak, where the "
    "counters show no other reason",
    "what is missing to 60 % of the nearest peak, at most half",
    true};
constexpr Rule kMissRule = {
    "l2-misses",
    "Reads miss the L2 and go to memory",
    "If kernels read data more than once, use tiles that stay in L2 or LDS; otherwise fuse them "
    "with their neighbours. sonde sol --panel 17 shows the L2.",
    "the time of hot kernels that take 60 % or more of the memory bandwidth, two thirds of it for "
    "reads, where less than half of the requests hit the L2",
    "half of the reads that miss",
    true};
constexpr Rule kMemoryRule = {
    "memory-bound",
    "Kernels are bound by memory bandwidth",
    "Move fewer bytes: fuse them with the kernels before and after, or use smaller types. sonde "
    "roofline shows how far they are from the roof.",
    "the time of other hot kernels that take 60 % or more of the memory bandwidth",
    "not known",
    true};

// In the order of CauseKind.
constexpr const Rule* kRules[] = {&kSmallLaunchRule, &kConflictRule, &kScatterRule, &kOccupancyRule,
                                  &kLatencyRule,     &kMissRule,     &kMemoryRule};
static_assert(std::size(kRules) == static_cast<size_t>(CauseKind::kMemory) + 1);

const Rule* rule_of(CauseKind kind) { return kRules[static_cast<size_t>(kind)]; }

Lanes times_of(const trace::Trace& trace, const std::string& kernel) {
  Lanes lanes;
  const auto& ops = trace.ops;
  for (size_t op = 0; op < ops.size(); ++op) {
    if (ops.category[op] != trace::Category::kCompute) continue;
    if (trace.names[trace.label(op)] != kernel) continue;
    lanes[ops.gpu[op]].push_back({ops.start_ns[op], ops.end_ns[op]});
  }
  for (auto& [gpu, set] : lanes) trace::normalise(set);
  return lanes;
}

// Kernels of one cause are one claim, with the evidence of the one that takes most of the time.
void add(const trace::Trace& trace, const metrics::Cause& cause, Claims& claims,
         std::map<const Rule*, size_t>& place) {
  const Rule* rule = rule_of(cause.kind);
  Lanes times = times_of(trace, cause.kernel);
  const auto [found, is_first] = place.emplace(rule, claims.size());
  if (is_first) {
    claims.push_back(
        {rule, std::move(times), cause.saved, short_name_of(cause.kernel) + ": " + cause.evidence});
    return;
  }
  Claim& claim = claims[found->second];
  const auto before = static_cast<double>(length_ns(claim.at_stake));
  for (const auto& [gpu, set] : times) claim.at_stake[gpu] = trace::unite(claim.at_stake[gpu], set);
  const auto both = static_cast<double>(length_ns(claim.at_stake));
  if (both > 0) claim.saved = (claim.saved * before + cause.saved * (both - before)) / both;
}

}  // namespace

std::vector<const Rule*> counter_rules() {
  return {&kSmallLaunchRule, &kConflictRule, &kScatterRule, &kOccupancyRule,
          &kLatencyRule,     &kMissRule,     &kMemoryRule};
}

void add_counter_claims(const Evidence& evidence, Claims& claims) {
  const trace::Trace& trace = evidence.trace;
  if (trace.op_counters.size() == 0) return;
  // An unknown GPU has no peaks to compare with.
  const auto workload = metrics::workload_of(trace, "");
  if (!workload.ok()) return;
  const auto definitions = metrics::definitions_for(workload->gpu);
  if (!definitions.ok()) return;
  std::map<const Rule*, size_t> place;
  std::map<const Rule*, size_t> kernels;
  for (const metrics::Cause& cause : metrics::causes_of(*definitions, *workload)) {
    add(trace, cause, claims, place);
    ++kernels[rule_of(cause.kind)];
  }
  for (const auto& [rule, at] : place) {
    if (kernels[rule] < 2) continue;
    claims[at].evidence +=
        fmt::format("; and {} more kernel{}", kernels[rule] - 1, kernels[rule] == 2 ? "" : "s");
  }
}

}  // namespace sonde::analysis
