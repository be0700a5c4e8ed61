// The counters that a trace has for its kernels, as a workload: an .rpd, or a file of rocprof,
// rocprofv3 or rocpd that has them. Used by `sonde sol` and `sonde roofline`.
#pragma once

#include <string>

#include "base/result.h"
#include "metrics/workload/workload.h"
#include "trace/kernel_facts.h"
#include "trace/trace.h"

namespace sonde::metrics {

// What of a trace is needed.
trace::Request workload_request();
// `model` names the GPU where the trace does not, and goes before what it says; "" = what it says.
// A counter that was read in parts is their sum. Fails where there are no counters.
Result<Workload> workload_of(const trace::Trace& trace, const std::string& model);
// What the same file says of kernels beside counters: registers, sizes of launches, channels of the
// L2, roofs. As columns of the names that a folder of rocprof-compute has.
void add_kernel_facts(const trace::KernelFacts& facts, Workload& workload);

}  // namespace sonde::metrics
