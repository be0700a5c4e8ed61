#include "timeline/timeline.h"

#include <utility>

#include "timeline/lane_choice.h"

namespace sonde::timeline {

void add_track(Track track, const std::vector<Event>& events, Timeline& timeline) {
  std::vector<Lane> lanes;
  LaneChoice choice;
  for (const Event& event : events) {
    const size_t lane = choice.lane_of({event.start_ns, event.end_ns});
    if (lane == lanes.size()) lanes.emplace_back();
    lanes[lane].add(event);
  }
  track.first_lane = static_cast<uint32_t>(timeline.lanes.size());
  track.lanes = static_cast<uint32_t>(lanes.size());
  for (Lane& lane : lanes) {
    lane.finish();
    timeline.lanes.push_back(std::move(lane));
  }
  timeline.tracks.push_back(track);
}

}  // namespace sonde::timeline
