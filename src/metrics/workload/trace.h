// The counters that a trace has for its kernels, as a workload: an .rpd, or a file of rocprof,
// rocprofv3 or rocpd that has them. Used by `sonde sol` and `sonde roofline`.
#pragma once

#include <string>

#include "base/result.h"
#include "metrics/workload/workload.h"
#include "trace/trace.h"
#include "trace/window.h"

namespace sonde::metrics {

// What of a trace is needed.
trace::Request workload_request();
// `model` names the GPU where the trace does not, and goes before what it says; "" = what it says.
// A counter that was read in parts is their sum. Fails where there are not counters.
Result<Workload> workload_of(const trace::Trace& trace, const std::string& model);
// That of a file, with what it says of kernels beside counters: registers, sizes of launches,
// channels of the L2, roofs. They are columns of the names that a folder of rocprof-compute has.
// The file is read once, so it may be a pipe. `as` names the importer, "" sniffs. With a window, of
// the dispatches that overlap it, each as a whole and with the number that it has in the file;
// fails where there are none.
Result<Workload> workload_of_file(const std::string& path, const std::string& as,
                                  const std::string& model, const trace::WindowText& window);

}  // namespace sonde::metrics
