// What the rules of findings.h share. Each file of rules adds its findings, whatever they cost;
// those that cost too little are taken out afterwards. Private to the findings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/findings.h"
#include "analysis/gpu_time.h"

namespace sonde::analysis {

// What a rule says; the figures come from the trace.
struct Rule {
  const char* id;
  const char* title;
  const char* advice;
  const char* definition;  // what its time is
};

// What the rules look at.
struct Evidence {
  const trace::Trace& trace;
  const std::map<int32_t, GpuTime> gpus;
  Breakdown all;  // summed over GPUs
  explicit Evidence(const trace::Trace& trace);
};

using Findings = std::vector<Finding>;

Finding make_finding(const Rule& rule, int64_t cost_ns, int64_t wall_ns, std::string evidence);
std::string time_text(int64_t ns);
std::string short_name_of(const std::string& name);

// The time in which no operation ran on a GPU, while one of the ranges did: calls of the GPU's own
// processes, where these are known. `ranges` by process (kNone: of all), not normalised.
int64_t idle_within(const Evidence& evidence, std::map<int32_t, trace::IntervalSet> ranges);

// findings_host.cpp: what programs do while GPUs are idle.
std::vector<const Rule*> host_rules();
void add_host_findings(const Evidence& evidence, Findings& findings);
// findings_work.cpp: copies, kernels and ranks.
std::vector<const Rule*> work_rules();
void add_work_findings(const Evidence& evidence, Findings& findings);
// findings_cpu.cpp: traces without operations of a device.
std::vector<const Rule*> cpu_rules();
void add_cpu_findings(const trace::Trace& trace, Findings& findings);

}  // namespace sonde::analysis
