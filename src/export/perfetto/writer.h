// PerfettoWriter: the packets of one .pftrace. perfetto.cpp has the sequence, its clock, processes,
// threads, their slices and counters; gpu.cpp has the GPUs and their operations, and
// tracks.cpp the same operations for older viewers; blocked.cpp has the time in
// which threads were blocked. Field numbers are those of Perfetto's public .proto files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "export/events/call_arguments.h"
#include "export/events/call_samples.h"
#include "export/events/events.h"
#include "export/events/lanes.h"
#include "export/events/viewer_numbers.h"
#include "export/exporter.h"
#include "export/output/sink.h"
#include "export/perfetto/intern.h"
#include "export/perfetto/packets.h"
#include "export/perfetto/samples.h"

namespace sonde::exporting {

// How far other clocks are ahead of CLOCK_MONOTONIC.
struct ClockOffsets {
  int64_t realtime_ns = 0;  // 0 = not known
  int64_t boottime_ns = 0;
};

// InternedGraphicsContext.Api of "opencl", "hip" ...; 0 if it is none of them.
uint64_t api_number(std::string_view backend);

class PerfettoWriter {
 public:
  // With `track_events` operations are slices of tracks instead of render stages.
  PerfettoWriter(const Events& events, const CallSamples& call_samples, const ClockOffsets& clocks,
                 bool track_events, Sink& sink)
      : events_(events),
        call_samples_(call_samples),
        clocks_(clocks),
        track_events_(track_events),
        stream_(sink),
        out_(stream_.out()),
        numbers_(events),
        names_(stream_, InternField::kEventName, events.names),
        kernels_(stream_, events.names),
        arg_names_(stream_, InternField::kComputeArgName),
        annotation_names_(stream_, InternField::kAnnotationName),
        categories_(stream_, InternField::kCategory),
        args_(stream_, InternField::kStringValue, events.args, 1),
        marker_names_(stream_, InternField::kEventName, events.args,
                      uint64_t{events.names.size()} + 1),
        values_(stream_, InternField::kStringValue) {}

  Counts write(const Overlay& over) {
    first_packet();
    clock_snapshot();
    process_tree();
    process_tracks();
    if (!track_events_) devices();
    apis();
    silent_threads();
    track_events_ ? op_tracks() : ops();
    samples();
    overlay(over);
    const std::vector<BlockedSlice> blocked = blocked_slices();
    const uint64_t category = blocked.empty() ? 0 : categories_.iid(kBlockedCategory);
    counts_.samples = write_call_samples(stream_, call_samples_, numbers_, blocked, category);
    stream_.finish();
    counts_.skipped = events_.skipped;
    return counts_;
  }

 private:
  void first_packet();
  void clock_snapshot();
  void process_tree();
  void process_tracks();
  void real_number(std::string_view word, int64_t number, int64_t shown);
  void silent_threads();
  void devices();
  void contexts_and_queues();
  void stages();
  void apis();
  uint64_t thread_track(const Thread& thread);
  void api_lane(const Lane& lane, const Layout& layout, uint64_t track);
  void api_event(size_t index, uint64_t track);
  void intern_arguments(const Api& api);
  void launch_fields(size_t index);
  uint64_t category_iid(const Api& api);
  void end_event(int64_t time_ns, uint64_t track);
  void ops();
  std::string shape_fields(const Shape& shape);
  uint64_t op_name(const Op& op);
  void op(size_t index);
  uint64_t named_track(uint64_t parent, const std::string& name);
  void op_tracks();
  void op_slice(size_t index, uint64_t track);
  uint64_t counter_parent(const Series& series);
  uint64_t counter_track(const Series& series);
  void samples();
  std::vector<BlockedSlice> blocked_slices();
  void overlay(const Overlay& overlay);
  void overlay_slice(const OverlaySlice& slice, uint64_t track, uint64_t ends, uint64_t begins);
  uint64_t process_track(int64_t pid) const;
  int64_t gpu_number(uint32_t device) const;

  const Events& events_;
  const CallSamples& call_samples_;
  const ClockOffsets clocks_;
  const bool track_events_;
  PacketStream stream_;
  ProtoBuffer& out_;
  ViewerNumbers numbers_;
  InternedTable names_;
  InternedKernels kernels_;
  InternedSet arg_names_, annotation_names_, categories_;
  InternedRepeats args_, marker_names_;
  InternedValues values_;
  struct Annotation {
    uint64_t name_iid;
    uint32_t field;  // of DebugAnnotation
    int64_t integer;
    uint64_t value_iid;  // 0: the text is written in place
    std::string_view text;
  };
  CallArguments arguments_;
  std::vector<Annotation> annotations_;            // of the call that is being written
  std::map<std::string, uint64_t> device_tracks_;  // of metrics
  bool real_gpu_numbers_ = true;
  uint64_t next_uuid_ = 1;
  std::map<std::pair<int64_t, int64_t>, uint64_t> thread_tracks_;  // by pid and tid
  std::string scratch_;
  std::vector<std::string> queue_args_, shapes_;
  uint64_t args_name_ = 0, marker_name_ = 0, bytes_name_ = 0, status_name_ = 0;
  uint32_t last_domain_ = kNone, last_name_ = kNone;
  uint64_t last_category_ = 0;
  Counts counts_;
};

}  // namespace sonde::exporting
