// Sampled call stacks in a .pftrace: a PerfSample on its thread for each, and a slice for each time
// in which a thread was blocked, with interned frames, mappings and call stacks. The Perfetto
// exporter calls it after everything else.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "export/events/call_samples.h"
#include "export/events/viewer_numbers.h"
#include "export/perfetto/packets.h"

namespace sonde::exporting {

// The part of trace_packet_defaults that says what samples are taken by: CPU time.
void write_sample_defaults(ProtoBuffer& out);

// How the slices of blocked threads are told from those of calls.
constexpr std::string_view kBlockedCategory = "sonde_blocked";

struct BlockedSlice {
  int64_t start_ns, end_ns;
  uint64_t track;
  uint32_t stack;  // index into CallSamples::stacks
};

// Samples of running threads, and the slices, those of a track by time and none within another,
// with the interned category. Returns how many of both.
uint64_t write_call_samples(PacketStream& stream, const CallSamples& samples,
                            ViewerNumbers& numbers, const std::vector<BlockedSlice>& blocked,
                            uint64_t category);

}  // namespace sonde::exporting
