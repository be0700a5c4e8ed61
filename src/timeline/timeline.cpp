#include "timeline/timeline.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace sonde::timeline {
namespace {

// Gives each event, which come by start, the first lane that is free. Where events lie within each
// other, as calls do, that is their depth.
class LaneChoice {
 public:
  size_t lane_of(const Event& event) {
    while (!running_.empty() && running_.top().first <= event.start_ns) {
      free_.insert(running_.top().second);
      running_.pop();
    }
    size_t lane = lanes_;
    if (free_.empty()) {
      ++lanes_;
    } else {
      lane = *free_.begin();
      free_.erase(free_.begin());
    }
    running_.emplace(event.end_ns, lane);
    return lane;
  }

 private:
  using Running = std::pair<int64_t, size_t>;  // until when, in which lane
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::set<size_t> free_;
  size_t lanes_ = 0;
};

struct Growing {
  std::vector<Lane> lanes;
  LaneChoice choice;

  void add(const Event& event) {
    const size_t lane = choice.lane_of(event);
    if (lane == lanes.size()) lanes.emplace_back();
    lanes[lane].add(event);
  }
};

struct Union {
  Lane lane;
  trace::Interval open{0, -1};  // not added yet

  void add(int64_t start_ns, int64_t end_ns) {
    if (end_ns <= start_ns) return;
    if (start_ns <= open.end_ns && open.end_ns > open.start_ns) {
      open.end_ns = std::max(open.end_ns, end_ns);
      return;
    }
    flush();
    open = {start_ns, end_ns};
  }
  void flush() {
    if (open.end_ns > open.start_ns) lane.add({open.start_ns, open.end_ns, 0, kNoRow});
  }
};

void append(Track track, std::vector<Lane> lanes, Timeline& timeline) {
  track.first_lane = static_cast<uint32_t>(timeline.lanes.size());
  track.lanes = static_cast<uint32_t>(lanes.size());
  for (Lane& lane : lanes) {
    lane.finish();
    timeline.lanes.push_back(std::move(lane));
  }
  timeline.tracks.push_back(track);
}

void append_gpus(const trace::Trace& trace, Timeline& timeline) {
  std::map<int64_t, Union> gpus;
  std::map<trace::Queue, Growing> queues;
  const trace::Ops& ops = trace.ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    queues[trace.queues[ops.queue[i]]].add(
        {ops.start_ns[i], ops.end_ns[i], trace.label(i), static_cast<uint32_t>(i)});
    gpus[ops.gpu[i]].add(ops.start_ns[i], ops.end_ns[i]);
  }
  for (auto& [gpu, busy] : gpus) {
    busy.flush();
    std::vector<Lane> one;
    one.push_back(std::move(busy.lane));
    append({Track::Kind::kGpu, gpu, 0}, std::move(one), timeline);
    for (auto& [queue, growing] : queues) {
      if (queue.gpu != gpu) continue;
      append({Track::Kind::kQueue, gpu, queue.queue}, std::move(growing.lanes), timeline);
    }
  }
}

void append_threads(const trace::Trace& trace, Timeline& timeline) {
  std::map<uint32_t, Growing> threads;
  const trace::Apis& apis = trace.apis;
  for (size_t i = 0; i < apis.size(); ++i) {
    threads[apis.thread[i]].add(
        {apis.start_ns[i], apis.end_ns[i], apis.label[i], static_cast<uint32_t>(i)});
  }
  std::map<std::pair<int64_t, int64_t>, Growing*> sorted;  // by process and thread
  for (auto& [index, growing] : threads) {
    const trace::Thread& thread = trace.threads[index];
    const int64_t pid = thread.process == trace::kNone
                            ? 0
                            : trace.processes[static_cast<size_t>(thread.process)].pid;
    sorted[{pid, thread.tid}] = &growing;
  }
  for (auto& [who, growing] : sorted) {
    append({Track::Kind::kThread, who.first, who.second}, std::move(growing->lanes), timeline);
  }
}

}  // namespace

void add_track(Track track, const std::vector<Event>& events, Timeline& timeline) {
  Growing growing;
  for (const Event& event : events) growing.add(event);
  append(track, std::move(growing.lanes), timeline);
}

trace::Request needs() { return {.ops = true, .apis = true, .nesting = true}; }

Timeline make_timeline(const trace::Trace& trace) {
  Timeline timeline;
  append_gpus(trace, timeline);
  append_threads(trace, timeline);
  bool first = true;
  for (const Lane& lane : timeline.lanes) {
    if (lane.size() == 0) continue;
    const int64_t start_ns = lane.event(0).start_ns, end_ns = lane.end_ns(lane.size() - 1);
    timeline.span.start_ns = first ? start_ns : std::min(timeline.span.start_ns, start_ns);
    timeline.span.end_ns = first ? end_ns : std::max(timeline.span.end_ns, end_ns);
    first = false;
  }
  return timeline;
}

}  // namespace sonde::timeline
