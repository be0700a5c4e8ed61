// The kernels of one process, shown instead of the plots.
#include <fmt/format.h>

#include <algorithm>

#include "report/names.h"
#include "watch/view.h"

namespace sonde::watch {

int View::draw_kernels(Cells& cells, int row, int rows) const {
  if (rows == 0) return row;
  const LiveKernels& live = *kernels_;
  const double span_ns = std::max(live.span_s, 1e-3) * 1e9;
  std::string title = fmt::format("Kernels of {}", live.pid);
  if (!live.kernels.empty()) {
    title += fmt::format(", {:.0f} s: {:.1f} % of the time, {:.0f}/s", live.span_s,
                         100 * static_cast<double>(live.all.total_ns) / span_ns,
                         static_cast<double>(live.all.calls) / live.span_s);
  }
  const bool works = live.span_s > 0;
  cells.put(row, 0, works ? title + ", " + live.source : title, Style::kBold);
  if (live.kernels.empty()) {
    const std::string why =
        works ? fmt::format("no operations in the last {:.0f} s", live.span_s) : live.source;
    if (rows > 1) cells.put(row + 1, 2, why, works ? Style::kPlain : Style::kWarn);
    return row + rows;
  }
  if (rows > 1) {
    cells.put(row + 1, 0,
              fmt::format("{:>8}{:>10}{:>12}{:>11}  {}", "Time %", "Calls/s", "Mean us", "Total ms",
                          "Kernel or copy"),
              Style::kBold);
  }
  std::vector<std::string> names;
  for (const LiveKernel& kernel : live.kernels) names.push_back(kernel.name);
  names = report::short_names(names);
  for (size_t i = 0; i < live.kernels.size() && static_cast<int>(i) + 2 < rows; ++i) {
    const LiveKernel& kernel = live.kernels[i];
    const auto total_ns = static_cast<double>(kernel.total_ns);
    const auto calls = static_cast<double>(kernel.calls);
    cells.put(row + 2 + static_cast<int>(i), 0,
              fmt::format("{:>8.1f}{:>10.0f}{:>12.1f}{:>11.2f}  {}", 100 * total_ns / span_ns,
                          calls / live.span_s, total_ns / calls / 1e3, total_ns / 1e6, names[i]));
  }
  return row + rows;
}

}  // namespace sonde::watch
