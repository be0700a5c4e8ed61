// Sampled call stacks in Chrome JSON: the members stackFrames and samples of the document.
#pragma once

#include <cstdint>

#include "export/events/call_samples.h"
#include "export/events/viewer_numbers.h"
#include "export/output/sink.h"

namespace sonde::exporting {

// Writes `,"stackFrames":{...},"samples":[...]`, or nothing if there are no samples. Times are as
// those of events: after `origin_ns`.
void write_chrome_samples(Sink& sink, const CallSamples& samples, int64_t origin_ns,
                          ViewerNumbers& numbers);

}  // namespace sonde::exporting
