// Tiles: what lanes hold in a part of time, as bytes that a page draws without parsing. A tile is
// kBins bins of 2^level ns, and tile K begins K tiles after the start of the timeline; so two asks
// for the same part are the same ask. A lane with no more events in the tile than there are bins
// comes exactly, any other as one row for each bin that is not empty.
//
// All numbers are little-endian, and every column begins at a multiple of its width:
//
//   32 bytes       "SNDT", u16 version 1, u16 number of lanes, u32 level, u32 bins, u64 K, u64 0
//   32 a lane      u32 lane, u32 form (0 bins, 1 events), u32 rows, u32 offset of the columns
//                  from the first byte, u64 events that start in the tile, u64 busy ns of the tile
//   bins           u32 count (events that start in the bin), u32 row and u32 name of the event
//                  that has most of the bin, f32 start and f32 duration of it in bins from the
//                  tile's start, u16 bin, u16 busy in 1/65535 of the bin, not 0 if busy at all
//   events         f64 start in ns from the tile's start, f64 duration in ns, u32 row, u32 name
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "timeline/timeline.h"

namespace sonde::timeline {

constexpr uint32_t kBins = 512;
constexpr int kMostLevel = 40;
constexpr size_t kTileHead = 32;
constexpr size_t kMostLanes = 64;  // of one ask: 800 KB at most

struct TileKey {
  int level = 0;
  int64_t number = 0;  // K
};

// The part of time that a tile of a timeline that begins then shows; fails for a key that no tile
// has.
Result<trace::Interval> time_of(int64_t start_ns, TileKey key);
// The first kTileHead bytes of a tile of `count` lanes or counters; fails if these are too many.
Result<std::string> tile_head(std::string_view magic, const char* what, size_t count, TileKey key);
Result<std::string> make_tile(const Timeline& timeline, std::span<const uint32_t> lanes,
                              TileKey key);

}  // namespace sonde::timeline
