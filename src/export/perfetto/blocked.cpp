// Time in which threads were blocked (sonde_blocked) as slices of a track of each thread: a sample
// of Perfetto's has no length.
#include <map>
#include <utility>

#include "export/perfetto/writer.h"

namespace sonde::exporting {

// Makes the tracks. Pieces of one thread follow each other; in a damaged file they may overlap.
std::vector<BlockedSlice> PerfettoWriter::blocked_slices() {
  struct Piece {
    int64_t start_ns, end_ns;
    uint32_t thread, stack;
  };
  using Key = std::pair<int64_t, int64_t>;  // pid and tid
  std::vector<Piece> pieces;
  std::vector<Key> threads;
  std::map<Key, uint32_t> numbers;
  for (const CallSample& sample : call_samples_.samples) {
    int64_t end_ns = 0;
    if (sample.blocked_ns <= 0 || sample.time_ns < 0) continue;
    if (__builtin_add_overflow(sample.time_ns, sample.blocked_ns, &end_ns)) continue;
    const Key key{sample.pid, sample.tid};
    const auto [at, added] = numbers.try_emplace(key, static_cast<uint32_t>(threads.size()));
    if (added) threads.push_back(key);
    pieces.push_back({sample.time_ns, end_ns, at->second, sample.stack});
  }
  const Layout layout = lay_out(pieces, pieces.size(), threads.size(), Nesting::kNever,
                                [](const Piece& piece) { return piece.thread; });
  std::vector<BlockedSlice> slices;
  for (const Lane& lane : layout.lanes) {
    const Key& key = threads[lane.track];
    const auto known = thread_tracks_.find(key);
    const uint64_t parent =
        known != thread_tracks_.end() ? known->second : thread_track({key.first, key.second, {}});
    const uint64_t track = named_track(parent, "blocked");
    for (uint32_t i = lane.begin; i < lane.end; ++i) {
      const Piece& piece = pieces[layout.order[i]];
      slices.push_back({piece.start_ns, piece.end_ns, track, piece.stack});
    }
  }
  return slices;
}

}  // namespace sonde::exporting
