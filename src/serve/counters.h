// Values over time beside the timeline: what was measured of GPUs and the host while the program
// ran, the counters that the program kept itself, and the memory in use. Private to src/serve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/panel.h"
#include "timeline/counter.h"

namespace sonde::serve {

struct Counters {
  struct About {
    std::string what;   // as the file names it: "sclk", "power_w"
    std::string title;  // "GPU 0 sclk"
    std::string unit;   // "MHz"; "" = not known
    std::optional<int64_t> gpu;
  };
  std::vector<About> about;  // of each counter
  std::vector<timeline::Counter> counters;
};

// Reads the trace again, and returns what unpacked_counters() makes counters of, in another
// process.
Result<std::string> packed_counters(const Source& source);
// `end_ns` is where the trace ends, and with it the last readings.
Result<Counters> unpacked_counters(std::string_view bytes, int64_t end_ns);
std::string counters_json(const Counters& counters);

}  // namespace sonde::serve
