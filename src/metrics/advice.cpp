#include "metrics/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "metrics/kernel_figures.h"
#include "metrics/occupancy.h"

namespace sonde::metrics {
namespace {

using namespace report::columns;
using report::Kind;

constexpr double kAlmostPeak = 90;  // per cent, from which on nothing more is to be gained

std::optional<Occupancy> occupancy(KernelFigures& figures, const std::string& gpu) {
  const auto vgprs = figures.column("Arch_VGPR");
  if (!vgprs) return std::nullopt;
  const auto whole = [&](const char* name) {
    return static_cast<int>(std::clamp(figures.column(name).value_or(0), 0.0, 1e6));
  };
  return occupancy_of(gpu, {static_cast<int>(std::clamp(*vgprs, 0.0, 1e6)), whole("Accum_VGPR"),
                            whole("SGPR"), whole("LDS_Per_Workgroup"), whole("Workgroup_Size")});
}

// What to try for a kernel that is bound by a bandwidth.
std::string attempt_for_memory(KernelFigures& figures) {
  const auto hits = figures.mean("L2 Cache Hit Rate");
  if (hits && *hits < 50) {
    return fmt::format(
        "Move fewer bytes: {:.0f} % of the requests hit the L2 (metric {}), so tiles that are "
        "reused while they are in it, or smaller types, help.",
        *hits, figures.id("L2 Cache Hit Rate"));
  }
  return "Move fewer bytes: fuse it with the kernels before and after it, or use smaller types.";
}

std::string attempt_for(const Resource& resource, KernelFigures& figures) {
  const std::string bound = resource.bound;
  if (bound == "memory bandwidth") return attempt_for_memory(figures);
  if (bound == kLdsBandwidth || bound == kLdsConflicts) {
    const auto conflicts = figures.mean("LDS Bank Conflicts/Access");
    if (conflicts && *conflicts > 0.1) {
      return fmt::format(
          "Lay out LDS without bank conflicts: they take {:.2f} cycles for each cycle of "
          "access (metric {}).",
          *conflicts, figures.id("LDS Bank Conflicts/Access"));
    }
    return "Keep data that is read from LDS several times in registers.";
  }
  if (bound == "vector instructions") {
    const auto threads = figures.mean("VALU Active Threads");
    if (threads && *threads < 48) {
      return fmt::format(
          "Reduce divergence: {:.0f} of 64 lanes are active in a vector instruction (metric {}).",
          *threads, figures.id("VALU Active Threads"));
    }
    return "Do less work, use packed or matrix instructions, or smaller types.";
  }
  if (bound == "matrix instructions") return "Use smaller types, or less work.";
  return "Coalesce accesses, so that whole cache lines are used, and keep reused data in LDS or in "
         "registers.";
}

std::string attempt_for_latency(KernelFigures& figures, const std::string& gpu) {
  const auto fits = occupancy(figures, gpu);
  if (fits && !fits->limiter.empty() && 2 * fits->waves_per_simd <= fits->most_waves) {
    return fmt::format(
        "Raise occupancy: {} allow {} of {} waves on a SIMD (registers, LDS and work group of the "
        "kernel).",
        fits->limiter, fits->waves_per_simd, fits->most_waves);
  }
  const auto conflicts = figures.mean("LDS Bank Conflicts/Access");
  if (conflicts && *conflicts > 1) {
    return fmt::format(
        "Lay out LDS without bank conflicts: they take {:.2f} cycles for each cycle of "
        "access (metric {}).",
        *conflicts, figures.id("LDS Bank Conflicts/Access"));
  }
  return "Keep more independent loads in flight: unroll loops, prefetch.";
}

// Adds the evidence, unless the sentence has it.
std::string resting_on(std::string sentence, const std::string& evidence) {
  const bool says =
      sentence.find("(metric ") != sentence.npos || sentence.find("(registers") != sentence.npos;
  if (says || sentence.empty()) return sentence;
  const bool ends = sentence.back() == '.';
  if (ends) sentence.pop_back();
  return fmt::format("{} ({}){}", sentence, evidence, ends ? "." : "");
}

void judge(KernelFigures& figures, const std::string& gpu, Advice& advice) {
  const auto use = highest_use(figures);
  const auto waves = figures.column("SQ_WAVES");
  const auto cus = figures.fact("cu_per_gpu");
  const auto simds = figures.fact("simd_per_cu");
  if (waves && cus && simds && *waves < *cus * *simds) {
    advice.bound = "launch too small";
    advice.of_bound = 100 * *waves / (*cus * *simds);
    advice.why = fmt::format(
        "Too small for the GPU: it has {:.0f} waves for {:.0f} SIMDs (counter "
        "SQ_WAVES).",
        *waves, *cus * *simds);
    advice.distance =
        fmt::format("At most {:.0f} % of the GPU can be busy (SQ_WAVES).", *advice.of_bound);
    advice.rests_on = {"SQ_WAVES"};
    advice.attempt =
        "Launch more work at once: a larger batch, or several such kernels together (SQ_WAVES).";
    return;
  }
  if (!use) {
    advice.bound = "unknown";
    advice.why = "The counters that would show what bounds it were not read, or it has no time.";
    return;
  }
  advice.of_bound = use->percent;
  advice.rests_on = use->resource->counters;
  const std::string evidence = evidence_of(*use->resource, figures);
  if (use->percent >= kBusyPercent) {
    advice.bound = use->resource->bound;
    advice.why = fmt::format("Bound by {}: it takes {:.0f} % of the peak ({}).", advice.bound,
                             use->percent, evidence);
    advice.distance =
        use->percent >= kAlmostPeak
            ? "It is practically at that peak."
            : fmt::format("At the peak it would be {:.2f} times as fast.", 100 / use->percent);
    advice.distance = resting_on(std::move(advice.distance), evidence);
    advice.attempt = resting_on(attempt_for(*use->resource, figures), evidence);
    return;
  }
  if (!use->not_measured.empty()) {
    advice.bound = "unknown";
    advice.why = fmt::format(
        "Of what was measured, {} is nearest to its peak, at {:.0f} % ({}), but {} {} not "
        "measured.",
        use->resource->bound, use->percent, evidence, fmt::join(use->not_measured, " and "),
        use->not_measured.size() == 1 ? "was" : "were");
    return;
  }
  advice.bound = "latency";
  advice.why = fmt::format(
      "Bound by latency: of all that was measured, {} is nearest to its peak, at {:.0f} % ({}).",
      use->resource->bound, use->percent, evidence);
  if (use->percent > 0) {
    advice.distance = fmt::format("That peak would allow {:.1f} times the speed ({}).",
                                  100 / use->percent, evidence);
  }
  advice.attempt = resting_on(attempt_for_latency(figures, gpu), evidence);
}

// What a software GPU counts from instructions is what a card would count; the rest is a model's.
void mark_modelled(Advice& advice) {
  if (advice.rests_on.empty()) return;
  const std::vector<std::string> modelled = modelled_counters(advice.rests_on);
  advice.trust = modelled.empty() ? "exact counts" : "modelled counts";
  advice.why += modelled.empty()
                    ? fmt::format(" On the software GPU {} {} exact; times are modelled.",
                                  fmt::join(advice.rests_on, ", "),
                                  advice.rests_on.size() == 1 ? "is" : "are")
                    : fmt::format(" On the software GPU {} {} modelled, and so are times.",
                                  fmt::join(modelled, ", "), modelled.size() == 1 ? "is" : "are");
}

}  // namespace

std::vector<Advice> advice_of(const Definitions& definitions, const Workload& workload,
                              size_t most) {
  const std::vector<KernelRows> kernels = by_kernel(workload);
  double total = 0;
  for (const KernelRows& kernel : kernels) total += kernel.total_ns;
  std::vector<Advice> result;
  for (size_t i = 0; i < kernels.size() && i < most; ++i) {
    std::vector<bool> keep(workload.rows(), false);
    for (const size_t row : kernels[i].rows) keep[row] = true;
    const Workload own = only_rows(workload, keep);
    KernelFigures figures(definitions, own);
    Advice advice;
    advice.kernel = kernels[i].name;
    advice.share = total > 0 ? kernels[i].total_ns / total : 0;
    judge(figures, workload.gpu, advice);
    if (workload.on_softgpu) mark_modelled(advice);
    result.push_back(std::move(advice));
  }
  return result;
}

report::Section advice_section(const std::vector<Advice>& advice) {
  report::Section section{.key = "bounds", .title = "What bounds the hot kernels"};
  section.table.add_columns({name("kernel", "Kernel"), percent("share", "Time"),
                             text("bound", "Bound by"), percent("of_bound", "Of peak")});
  const bool is_marked = std::any_of(advice.begin(), advice.end(),
                                     [](const Advice& one) { return !one.trust.empty(); });
  if (is_marked) section.table.add_columns({text("trust", "Rests on")});
  for (const Advice& one : advice) {
    std::vector<report::Value> row = {
        one.kernel, 100 * one.share, one.bound,
        one.of_bound ? report::Value(*one.of_bound) : report::Value()};
    if (is_marked) row.emplace_back(one.trust);
    section.table.add_row(std::move(row));
    section.remarks.push_back(one.kernel + ": " + one.why +
                              (one.distance.empty() ? "" : " " + one.distance) +
                              (one.attempt.empty() ? "" : " " + one.attempt));
  }
  return section;
}

Names advice_names(const Definitions& definitions) {
  std::vector<const MetricTable*> tables;
  for (const MetricTable& table : definitions.tables) {
    if (table.id == "2.1") tables.push_back(&table);
  }
  Names names = wanted_names(definitions, tables);
  names.insert(
      {"Arch_VGPR", "Accum_VGPR", "SGPR", "LDS_Per_Workgroup", "Workgroup_Size", "SQ_WAVES"});
  return names;
}

}  // namespace sonde::metrics
