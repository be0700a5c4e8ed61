// A tile as a page reads it.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "timeline/tile.h"

namespace sonde::timeline {

struct ReadLane {
  uint32_t lane = 0, form = 0;
  uint64_t starts = 0, busy_ns = 0;  // of the whole tile
  // Of bins.
  std::vector<uint32_t> count, row, name;
  std::vector<float> start_bins, duration_bins;
  std::vector<uint16_t> bin, busy;
  // Of events.
  std::vector<double> start_ns, duration_ns;
};

class TileReader {
 public:
  explicit TileReader(const std::string& bytes) : bytes_(bytes) {}

  std::vector<ReadLane> lanes() {
    std::vector<ReadLane> lanes(at<uint16_t>(6));
    for (size_t i = 0; i < lanes.size(); ++i) {
      ReadLane& lane = lanes[i];
      const size_t entry = 32 + 32 * i;
      lane.lane = at<uint32_t>(entry);
      lane.form = at<uint32_t>(entry + 4);
      rows_ = at<uint32_t>(entry + 8);
      place_ = at<uint32_t>(entry + 12);
      lane.starts = at<uint64_t>(entry + 16);
      lane.busy_ns = at<uint64_t>(entry + 24);
      if (lane.form == 1) {
        column(lane.start_ns);
        column(lane.duration_ns);
        column(lane.row);
        column(lane.name);
      } else {
        for (auto* each : {&lane.count, &lane.row, &lane.name}) column(*each);
        column(lane.start_bins);
        column(lane.duration_bins);
        column(lane.bin);
        column(lane.busy);
      }
    }
    return lanes;
  }
  // Where the columns that were read last end.
  size_t end() const { return place_; }

  template <typename T>
  T at(size_t offset) const {
    SONDE_CHECK(offset + sizeof(T) <= bytes_.size() && offset % sizeof(T) == 0);
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

 private:
  template <typename T>
  void column(std::vector<T>& values) {
    for (size_t i = 0; i < rows_; ++i, place_ += sizeof(T)) values.push_back(at<T>(place_));
  }

  const std::string& bytes_;
  size_t rows_ = 0, place_ = 0;
};

}  // namespace sonde::timeline
