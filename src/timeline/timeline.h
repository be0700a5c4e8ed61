// A trace as tracks and lanes to draw: for each GPU the time in which it was busy, for each of its
// queues the operations, for each thread the calls, markers and frames around each other. Events
// that overlap are in different lanes of their track, so nothing is left out. index.h has that of a
// trace.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/lane.h"
#include "trace/intervals.h"

namespace sonde::timeline {

struct Track {
  enum class Kind {
    kGpu,     // one lane: the union of all its operations, without rows
    kQueue,   // rows count operations by time
    kThread,  // rows count calls by time
    kPacked,  // the operations of all queues of a GPU once more, in as few lanes as hold them
    kGaps,    // of a GPU, by cause; rows are of what made the track
    kPath,    // the critical path; the same
    kSamples  // of a thread, its stacks; the same
  };
  Kind kind = Kind::kGpu;
  int64_t owner = 0;   // the GPU, or the process
  int64_t number = 0;  // of the queue or the thread
  uint32_t first_lane = 0, lanes = 0;
};

struct Timeline {
  trace::Interval span;       // of all events; times of tiles count from its start
  std::vector<Track> tracks;  // GPUs with their queues, threads by process, packed GPUs
  std::vector<Lane> lanes;    // lane 0 of a track holds most
};

// Adds a track at the end; events come by start, and overlapping ones get lanes of their own.
void add_track(Track track, const std::vector<Event>& events, Timeline& timeline);

}  // namespace sonde::timeline
