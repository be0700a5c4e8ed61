// LoadMeter: how busy a GPU was in the last second. Queues report when work begins and ends; work
// in progress counts, too. Any thread may read.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "device/device.h"

namespace softgpu {

class LoadMeter {
 public:
  void begin(bool copy, int64_t start_ns);
  // Ends the work that began at that time.
  void end(bool copy, int64_t start_ns, int64_t end_ns);
  Load read(int64_t now_ns) const;

 private:
  static constexpr int64_t kSlotNs = 62'500'000;  // a sixteenth of a second
  struct Track {
    int64_t busy_until_ns = 0;  // so that overlapping queues are not counted twice
    std::array<int64_t, 32> busy_ns{}, slot{};
    int running = 0;
    int64_t running_since_ns = 0;  // at least one queue has been running since then
    void begin(int64_t start_ns);
    void end(int64_t start_ns, int64_t end_ns);
    void add(int64_t start_ns, int64_t end_ns);
    double share(int64_t now_ns) const;
  };
  mutable std::mutex mutex_;
  Track engine_, memory_;
  uint64_t dispatches_ = 0, copies_ = 0;
};

}  // namespace softgpu
