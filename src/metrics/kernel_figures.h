// Metrics of the dispatches of one kernel by name, and which resource they use up most. Shared by
// advice.h and causes.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/definitions.h"
#include "metrics/evaluate.h"
#include "metrics/workload/workload.h"

namespace sonde::metrics {

// Means over the rows of a workload, by the names of definitions; nullopt where a counter is
// missing.
class KernelFigures {
 public:
  KernelFigures(const Definitions& definitions, const Workload& workload)
      : definitions_(definitions), evaluator_(definitions, workload, "kernel") {}

  std::optional<double> mean(const char* metric);
  std::optional<double> share(const char* metric);  // per cent of its peak
  std::string id(const char* metric) const;
  std::optional<double> column(const char* name);
  std::optional<double> fact(const char* name);  // or another shared formula

 private:
  const Definitions& definitions_;
  Evaluator evaluator_;
};

constexpr const char* kL2Bandwidth = "L2 bandwidth";
constexpr const char* kLdsBandwidth = "LDS bandwidth";
constexpr const char* kLdsConflicts = "LDS bank conflicts";

struct Resource {
  const char* bound;                  // "memory bandwidth"
  std::vector<const char*> metrics;   // whose shares of peak are added up
  std::vector<const char*> counters;  // that these rest on, besides time; or the only evidence
};

struct Use {
  const Resource* resource = nullptr;
  double percent = 0;
  // Resources that bound most kernels but were not measured: they may be used more.
  std::vector<const char*> not_measured = {};
};

// From so much of a peak on, in per cent, a resource is the bound.
constexpr double kBusyPercent = 60;

// The measured resource that is nearest to its peak.
std::optional<Use> highest_use(KernelFigures& figures);
// Its evidence: "metric 2.1.22, 2.1.23", or "counter TCC_REQ" without such a metric.
std::string evidence_of(const Resource& resource, const KernelFigures& figures);
// Its counters that a software GPU does not count from instructions, but from a model of caches.
std::vector<std::string> modelled_counters(const std::vector<const char*>& counters);

}  // namespace sonde::metrics
