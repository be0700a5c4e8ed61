// A value over time, such as a clock, a power or the memory in use, and tiles of several as bytes
// that a page draws without parsing: for each bin the least and the greatest value in it and the
// last one. A reading holds until the next one, so nothing between readings is made up. The grid is
// that of tile.h.
//
// All numbers are little-endian, and every column begins at a multiple of its width:
//
//   32 bytes       "SNDC", u16 version 1, u16 number of counters, u32 level, u32 bins, u64 K, u64 0
//   16 a counter   u32 counter, u32 rows, u32 offset of the columns from the start of the bytes,
//                  u32 0
//   columns        f32 least, f32 greatest, f32 last value of the bin, u16 bin; bins in which no
//                  value is known yet are left out
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "timeline/tile.h"

namespace sonde::timeline {

class Counter {
 public:
  // Readings come by time; of several at one time the last one counts from then on. No number: from
  // then on there is no value.
  void add(int64_t time_ns, double value);
  // The value holds no longer than until then.
  void finish(int64_t end_ns);

  size_t size() const { return time_ns_.size(); }
  struct Band {
    double least = std::numeric_limits<double>::infinity();
    double greatest = -std::numeric_limits<double>::infinity();
    double last = 0;  // that is a number
    bool known() const { return least <= greatest; }
    void take(const Band& other);
  };
  // The band of the readings in a part of time and of the one that holds at its start.
  Band band(trace::Interval time) const;
  Band whole() const { return band_of(0, size()); }

 private:
  Band band_of(size_t first, size_t end) const;

  std::vector<int64_t> time_ns_;
  std::vector<double> value_;
  std::vector<std::vector<Band>> levels_;  // of blocks of readings, and blocks of blocks
  int64_t end_ns_ = std::numeric_limits<int64_t>::max();
};

// `start_ns` is where the timeline begins, from which tiles count.
Result<std::string> make_counter_tile(std::span<const Counter> all, int64_t start_ns,
                                      std::span<const uint32_t> counters, TileKey key);

}  // namespace sonde::timeline
