// Sampled call stacks in a .pftrace: a PerfSample on its thread for each, with interned frames,
// mappings and call stacks. The Perfetto exporter calls it after everything else.
#pragma once

#include <cstdint>

#include "export/call_samples.h"
#include "export/packets.h"

namespace sonde::exporting {

// The part of trace_packet_defaults that says what samples are taken by: CPU time.
void write_sample_defaults(ProtoBuffer& out);

// Samples of running threads; returns how many. Time in which a thread was blocked is no sample.
uint64_t write_call_samples(PacketStream& stream, const CallSamples& samples);

}  // namespace sonde::exporting
