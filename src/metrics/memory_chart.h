// The memory chart: what a kernel asks of each level of memory, drawn between the levels. Used by
// sol/report.h.
#pragma once

#include "metrics/panels.h"
#include "report/diagram.h"

namespace sonde::metrics {

// Draws table 3.1.
report::Diagram memory_chart_of(const Panel& panel);
// A count in four characters at most: "9999", "131K", "1.0M"; "-" where it is not known.
std::string short_count(std::optional<double> count);

}  // namespace sonde::metrics
