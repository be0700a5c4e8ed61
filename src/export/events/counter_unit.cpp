#include "export/events/counter_unit.h"

namespace sonde::exporting {

namespace {

struct Known {
  std::string_view end;
  CounterUnit unit;
};

// The longer ends first.
constexpr Known kKnown[] = {
    {"_bytes_s", {0, "B/s"}}, {"_bytes", {3, ""}},    {"_percent", {0, "%"}}, {"mhz", {0, "MHz"}},
    {" sclk", {0, "MHz"}},    {" mclk", {0, "MHz"}},  {"_ms", {0, "ms"}},     {"_ns", {1, ""}},
    {"_w", {0, "W"}},         {"_c", {0, "\u00b0C"}}, {"_faults", {2, ""}},   {"_ctxt", {2, ""}},
    {"threads", {2, ""}},
};

}  // namespace

CounterUnit counter_unit(std::string_view counter) {
  for (const Known& known : kKnown) {
    if (counter.ends_with(known.end)) return known.unit;
  }
  return counter.find(" psi_") == counter.npos ? CounterUnit{} : CounterUnit{0, "%"};
}

}  // namespace sonde::exporting
