// Sampled stacks as what a timeline draws: how long a thread seems to have been in each frame, from
// samples of the same stack that follow each other. Private to src/serve.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace sonde::serve {

struct SampledFrame {
  trace::Interval time;
  uint32_t frame = 0;   // index into CallStacks::frames: the first one with its function
  uint32_t thread = 0;  // index into Trace::threads
  int64_t cpu_ns = 0;   // of the samples that it was seen in
};

// Without frames of the Python interpreter itself, which stand for the Python frame that they
// execute. By thread; of those that begin together the outer ones come first, and an inner one lies
// within its caller. A sample stands for the CPU time before it. With less than that to the one
// before it the thread ran all the time, and nothing closer was looked at. Frames of two samples go
// on between them where the thread waited for little, as for its turn on a CPU.
std::vector<SampledFrame> sampled_frames(const trace::Trace& trace);

}  // namespace sonde::serve
