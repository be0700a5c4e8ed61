// What stands around the events of a Chrome trace: devices, ranks, the time base, and whatever the
// user added. Private to the kineto importer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde::importers {

// Times of the day in ns are beyond this since 2001; times since boot are not.
constexpr int64_t kSurelyRealtimeNs = 1'000'000'000'000'000'000;

struct Frame {
  struct Device {
    int64_t id = 0;
    std::string name;
    std::optional<int64_t> memory_bytes, compute_units;
  };
  std::vector<Device> devices;
  std::optional<int64_t> base_ns;  // the time of day at the file's time 0
  std::optional<int64_t> rank;
  bool own_numbers = false;  // devices are numbered as those of operations: Sonde's recordings
  bool is_amd = false, is_nvidia = false;                  // the versions it names say so
  std::vector<std::pair<std::string, std::string>> notes;  // all that is there, as JSON
  bool broken = false;                                     // it is not valid JSON
};

Frame parse_frame(std::string_view json);

}  // namespace sonde::importers
