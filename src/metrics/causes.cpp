#include "metrics/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "metrics/advice.h"
#include "metrics/kernel_figures.h"

namespace sonde::metrics {
namespace {

constexpr double kMostSaved = 0.5;         // of a kernel, where the figure is an estimate
constexpr double kConflictShare = 0.1;     // of the cycles of the CUs
constexpr double kScatteredLines = 40;     // for an instruction; 64: a line for each lane
constexpr double kCompactLines = 16;       // what 8 bytes for each lane take
constexpr double kFullPercent = 10;        // of cycles in which something did not fit
constexpr double kFewHitsPercent = 50;     // of the L2
constexpr double kReadShare = 2.0 / 3;     // of the bytes to and from memory
constexpr double kShortKernelNs = 10'000;  // it takes as long as launching it, whatever it does

bool is_of_memory(const Use& use) {
  const std::string_view bound = use.resource->bound;
  return bound == "memory bandwidth" || bound == kL2Bandwidth || bound == "L1 bandwidth";
}

// Up to the share of a peak that counts as bound.
double gain_to_busy(double percent) {
  return std::clamp(1 - percent / kBusyPercent, 0.0, kMostSaved);
}

std::optional<Cause> conflicts_of(KernelFigures& figures) {
  const auto lost = figures.column("SQ_LDS_BANK_CONFLICT"), cycles = figures.fact("cu_cycles");
  if (!lost || !cycles || *cycles <= 0 || *lost < kConflictShare * *cycles) return std::nullopt;
  const double share = std::min(*lost / *cycles, 1.0);
  const char* metric = "LDS Bank Conflicts/Access";
  return Cause{CauseKind::kBankConflicts, "", share,
               fmt::format("conflicts take {:.0f} % of its cycles, {:.1f} for each cycle of access "
                           "(metric {})",
                           100 * share, figures.mean(metric).value_or(0), figures.id(metric))};
}

std::optional<Cause> scattering_of(KernelFigures& figures) {
  const auto lines = figures.column("TCP_TOTAL_CACHE_ACCESSES_sum");
  const auto waves = figures.column("TA_TOTAL_WAVEFRONTS_sum");
  if (!lines || !waves || *waves <= 0 || *lines < kScatteredLines * *waves) return std::nullopt;
  const double each = *lines / *waves;
  return Cause{CauseKind::kUncoalesced, "", std::min(1 - kCompactLines / each, kMostSaved),
               fmt::format("a memory instruction of its waves takes {:.0f} accesses to the vL1D on "
                           "average, a coalesced one 16 or fewer (TCP_TOTAL_CACHE_ACCESSES / "
                           "TA_TOTAL_WAVEFRONTS)",
                           each)};
}

std::optional<Cause> occupancy_limit_of(KernelFigures& figures, const Use& use) {
  struct Limit {
    const char *metric, *what;
  };
  for (const Limit& limit : {Limit{"Insufficient SIMD VGPRs", "vector registers"},
                             Limit{"Insufficient CU LDS", "LDS"}}) {
    const auto percent = figures.mean(limit.metric);
    if (!percent || *percent < kFullPercent) continue;
    return Cause{CauseKind::kLowOccupancy, "", gain_to_busy(use.percent),
                 fmt::format("waves waited for {} in {:.0f} % of the cycles (metric {})",
                             limit.what, *percent, figures.id(limit.metric))};
  }
  return std::nullopt;
}

Cause memory_of(KernelFigures& figures, const Use& use) {
  const std::string base = fmt::format("it uses {:.0f} % of the memory bandwidth ({})", use.percent,
                                       evidence_of(*use.resource, figures));
  const auto hits = figures.mean("L2 Cache Hit Rate");
  const auto reads = figures.mean("L2-Fabric Read BW"), writes = figures.mean("L2-Fabric Write BW");
  const bool reads_most = reads && writes && *reads >= kReadShare * (*reads + *writes);
  if (!hits || *hits >= kFewHitsPercent || !reads_most) {
    return {CauseKind::kMemory, "", 0, base};
  }
  const double read_share = *reads / (*reads + *writes);
  return {CauseKind::kL2Misses, "", kMostSaved * read_share * (1 - *hits / 100),
          fmt::format("{}, most of them reads, and {:.0f} % of requests hit the L2 (metric {})",
                      base, *hits, figures.id("L2 Cache Hit Rate"))};
}

std::optional<Cause> cause_of(KernelFigures& figures, const Advice& advice) {
  if (advice.bound == "launch too small") {
    const double busy = advice.of_bound.value_or(100);
    return Cause{CauseKind::kSmallLaunch, "", std::clamp(1 - busy / 100, 0.0, kMostSaved),
                 fmt::format("its waves fill {:.0f} % of the SIMDs (SQ_WAVES)", busy)};
  }
  const auto use = highest_use(figures);
  const auto ns = figures.fact("duration");
  if (!use || !ns || *ns < kShortKernelNs) return std::nullopt;
  const std::string_view bound = use->resource->bound;
  const bool is_latency = use->percent < kBusyPercent;
  if (is_latency || bound == kLdsBandwidth || bound == kLdsConflicts) {
    if (auto cause = conflicts_of(figures)) return cause;
  }
  if (is_of_memory(*use)) {
    if (auto cause = scattering_of(figures)) return cause;
  }
  if (is_latency) {
    if (!use->not_measured.empty()) return std::nullopt;
    if (auto cause = occupancy_limit_of(figures, *use)) return cause;
    return Cause{CauseKind::kLatency, "", gain_to_busy(use->percent),
                 fmt::format("{} is nearest to its peak, at {:.0f} % ({})", bound, use->percent,
                             evidence_of(*use->resource, figures))};
  }
  if (bound == "memory bandwidth") return memory_of(figures, *use);
  return std::nullopt;
}

}  // namespace

std::vector<Cause> causes_of(const Definitions& definitions, const Workload& workload,
                             size_t most) {
  const std::vector<Advice> advice = advice_of(definitions, workload, most);
  const std::vector<KernelRows> kernels = by_kernel(workload);
  std::vector<Cause> causes;
  for (size_t i = 0; i < advice.size(); ++i) {
    std::vector<bool> keep(workload.rows(), false);
    for (const size_t row : kernels[i].rows) keep[row] = true;
    const Workload own = only_rows(workload, keep);
    KernelFigures figures(definitions, own);
    auto cause = cause_of(figures, advice[i]);
    if (!cause) continue;
    cause->kernel = kernels[i].name;
    causes.push_back(std::move(*cause));
  }
  return causes;
}

}  // namespace sonde::metrics
