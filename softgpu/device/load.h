// LoadMeter: how busy a GPU was in the last second. Queues say when they begin and end work; what
// is under way counts, too. Anyone reads.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "device/device.h"

namespace softgpu {

class LoadMeter {
 public:
  void begin(bool copy, int64_t start_ns);
  // Of what was begun then.
  void end(bool copy, int64_t start_ns, int64_t end_ns);
  Load read(int64_t now_ns) const;

 private:
  static constexpr int64_t kSlotNs = 62'500'000;  // a sixteenth of the second that is shown
  struct Track {
    int64_t busy_until_ns = 0;  // so that queues that overlap are not counted twice
    std::array<int64_t, 32> busy_ns{}, slot{};
    int running = 0;
    int64_t running_since_ns = 0;  // at least one was, all the time
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
