// The unit of a counter, which the names of our metrics end in ("rss_bytes", "busy_percent"). Used
// by the Perfetto exporter, whose viewers write it at the axis.
#pragma once

#include <cstdint>
#include <string_view>

namespace sonde::exporting {

struct CounterUnit {
  uint32_t number = 0;    // Perfetto's: 2 a count, 3 bytes; 0 = another one
  std::string_view name;  // where there is no number
};

// Nothing for a counter that does not say it.
CounterUnit counter_unit(std::string_view counter);

}  // namespace sonde::exporting
