#include "timeline/build_index.h"

#include <map>
#include <utility>

#include "timeline/index_columns.h"
#include "timeline/index_rows.h"

namespace sonde::timeline {
namespace {

// A lane while events are given to it, in two rounds: the first counts them.
struct Counted {
  uint32_t track = 0;
  size_t events = 0;
};

class IndexBuilder {
 public:
  IndexBuilder(store::Reader& reader, const FileKey& key, int fd, std::string folder,
               Progress& progress)
      : reader_(reader), key_(key), fd_(fd), folder_(std::move(folder)), progress_(progress) {}

  Status build(Names known) {
    SONDE_ASSIGN(Rows rows, read_rows(reader_, folder_, progress_, std::move(known)));
    progress_.what = "sorting";
    sort_rows(rows);
    progress_.done = 0.8;
    SONDE_TRY(stopped());
    progress_.what = "arranging lanes";
    choose_op_lanes(rows);
    choose_api_lanes(rows);
    choose_packed_lanes(rows);
    progress_.done = 0.85;
    SONDE_TRY(stopped());
    SONDE_ASSIGN(IndexColumns columns,
                 IndexColumns::create(fd_, folder_, counts(), rows.op_count(), rows.api_count()));
    fill_ops(rows, columns);
    fill_apis(rows, columns);
    progress_.done = 0.9;
    SONDE_TRY(stopped());
    progress_.what = "linking calls";
    SONDE_TRY(link_rows(reader_, rows, folder_, columns, progress_));
    progress_.done = 0.98;
    return columns.finish(key_, tracks_, rows);
  }

 private:
  Status stopped() const {
    if (!progress_.stop) return ok_status();
    return make_error(ErrorCode::kInternal, "is stopped", reader_.path());
  }

  std::vector<size_t> counts() const {
    std::vector<size_t> counts;
    for (const Counted& lane : lanes_) counts.push_back(lane.events);
    return counts;
  }

  // Numbers the lanes of tracks one after the other, which the records then say: GPU, its queues.
  void choose_op_lanes(Rows& rows) {
    const auto ops = rows.ops();
    std::vector<LaneChoice> choices(rows.queues.size());
    std::map<int64_t, size_t> busy_parts;  // by GPU
    {
      std::map<int64_t, Union> busy;
      for (OpRecord& op : ops) {
        const trace::Interval time = {op.start_ns, op.end_ns};
        op.lane = static_cast<uint32_t>(choices[op.queue].lane_of(time));
        const int64_t gpu = rows.queues[op.queue].gpu;
        if (busy[gpu].add(time)) ++busy_parts[gpu];
      }
      for (auto& [gpu, parts] : busy) busy_parts[gpu] += parts.finish() ? 1 : 0;
    }
    std::vector<uint32_t> first(rows.queues.size());
    std::map<trace::Queue, uint32_t> sorted;
    for (uint32_t i = 0; i < rows.queues.size(); ++i) sorted.emplace(rows.queues[i], i);
    for (const auto& [gpu, parts] : busy_parts) {
      gpu_lane_[gpu] = add_track({Track::Kind::kGpu, gpu, 0}, 1);
      lanes_[gpu_lane_[gpu]].events = parts;
      for (const auto& [queue, index] : sorted) {
        if (queue.gpu != gpu) continue;
        first[index] = add_track({Track::Kind::kQueue, gpu, queue.queue}, choices[index].lanes());
      }
    }
    for (OpRecord& op : ops) ++lanes_[op.lane += first[op.queue]].events;
  }

  void choose_api_lanes(Rows& rows) {
    const auto apis = rows.apis();
    std::vector<LaneChoice> choices(rows.threads.size());
    for (ApiRecord& api : apis) {
      api.lane = static_cast<uint32_t>(choices[api.thread].lane_of({api.start_ns, api.end_ns}));
    }
    std::map<std::pair<int64_t, int64_t>, uint32_t> sorted;
    for (uint32_t i = 0; i < rows.threads.size(); ++i) sorted.emplace(rows.threads[i], i);
    std::vector<uint32_t> first(rows.threads.size());
    for (const auto& [thread, index] : sorted) {
      first[index] =
          add_track({Track::Kind::kThread, thread.first, thread.second}, choices[index].lanes());
    }
    for (ApiRecord& api : apis) ++lanes_[api.lane += first[api.thread]].events;
  }

  // For GPUs with more than one lane. Filling a lane chooses the same one again.
  void choose_packed_lanes(Rows& rows) {
    std::map<int64_t, size_t> lanes;  // by GPU
    for (const Track& track : tracks_) {
      if (track.kind == Track::Kind::kQueue) lanes[track.owner] += track.lanes;
    }
    std::map<int64_t, std::pair<LaneChoice, std::vector<size_t>>> packed;
    for (const auto& [gpu, count] : lanes) {
      if (count > 1) packed[gpu];
    }
    if (packed.empty()) return;
    for (const OpRecord& op : rows.ops()) {
      const auto found = packed.find(rows.queues[op.queue].gpu);
      if (found == packed.end()) continue;
      auto& [choice, events] = found->second;
      const size_t lane = choice.lane_of({op.start_ns, op.end_ns});
      events.resize(choice.lanes());
      ++events[lane];
    }
    for (const auto& [gpu, lanes_of] : packed) {
      const auto& events = lanes_of.second;
      packed_lane_[gpu] = add_track({Track::Kind::kPacked, gpu, 0}, events.size());
      for (size_t i = 0; i < events.size(); ++i) lanes_[packed_lane_[gpu] + i].events = events[i];
    }
  }

  uint32_t add_track(Track track, size_t lanes) {
    track.first_lane = static_cast<uint32_t>(lanes_.size());
    track.lanes = static_cast<uint32_t>(lanes);
    lanes_.resize(lanes_.size() + lanes);
    tracks_.push_back(track);
    return track.first_lane;
  }

  void fill_ops(Rows& rows, IndexColumns& columns) {
    const auto ops = rows.ops();
    std::map<int64_t, Union> busy;
    std::map<int64_t, LaneChoice> packed;
    for (uint32_t row = 0; row < ops.size(); ++row) {
      const OpRecord& op = ops[row];
      const Event event = {op.start_ns, op.end_ns, rows.label_of(op), row};
      columns.add(op.lane, event);
      columns.op_ids()[row] = op.id;
      const int64_t gpu = rows.queues[op.queue].gpu;
      if (const auto first = packed_lane_.find(gpu); first != packed_lane_.end()) {
        const size_t lane = packed[gpu].lane_of({op.start_ns, op.end_ns});
        columns.add(first->second + static_cast<uint32_t>(lane), event);
      }
      const auto part = busy[gpu].add({op.start_ns, op.end_ns});
      if (part) columns.add(gpu_lane_[gpu], {part->start_ns, part->end_ns, 0, kNoRow});
    }
    for (auto& [gpu, parts] : busy) {
      const auto part = parts.finish();
      if (part) columns.add(gpu_lane_[gpu], {part->start_ns, part->end_ns, 0, kNoRow});
    }
  }

  void fill_apis(Rows& rows, IndexColumns& columns) {
    const auto apis = rows.apis();
    for (uint32_t row = 0; row < apis.size(); ++row) {
      const ApiRecord& api = apis[row];
      columns.add(api.lane, {api.start_ns, api.end_ns, rows.label_of(api), row});
      columns.api_ids()[row] = api.id;
    }
  }

  store::Reader& reader_;
  const FileKey key_;
  int fd_;
  std::string folder_;
  Progress& progress_;
  std::vector<Counted> lanes_;
  std::vector<Track> tracks_;
  std::map<int64_t, uint32_t> gpu_lane_, packed_lane_;
};

}  // namespace

Status build_index(store::Reader& reader, const FileKey& key, int fd, const std::string& folder,
                   Progress& progress, Names known) {
  return IndexBuilder(reader, key, fd, folder, progress).build(std::move(known));
}

}  // namespace sonde::timeline
