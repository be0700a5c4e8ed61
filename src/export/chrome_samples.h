// Sampled call stacks in Chrome JSON: the members stackFrames and samples of the document.
#pragma once

#include <cstdint>

#include "export/call_samples.h"
#include "export/sink.h"
#include "export/viewer_numbers.h"

namespace sonde::exporting {

// Writes `,"stackFrames":{...},"samples":[...]`, or nothing if there are no samples. Times are as
// those of events: after `origin_ns`.
void write_chrome_samples(Sink& sink, const CallSamples& samples, int64_t origin_ns,
                          ViewerNumbers& numbers);

}  // namespace sonde::exporting
