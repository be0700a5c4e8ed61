#include "analysis/page/strip.h"

#include <algorithm>

#include "trace/category.h"

namespace sonde::analysis {
namespace {

constexpr int64_t kParts = 200;

// Adds what the intervals cover of each part.
void cover(const trace::IntervalSet& set, trace::Interval all, int64_t part_ns,
           std::vector<double>& parts) {
  for (const trace::Interval& one : set) {
    for (int64_t at = std::max(one.start_ns, all.start_ns); at < one.end_ns;) {
      const int64_t part = (at - all.start_ns) / part_ns;
      if (part >= static_cast<int64_t>(parts.size())) break;
      const int64_t end = std::min(one.end_ns, all.start_ns + (part + 1) * part_ns);
      parts[static_cast<size_t>(part)] += static_cast<double>(end - at);
      at = end;
    }
  }
}

}  // namespace

report::Chart strip_of(const std::map<int64_t, GpuTime>& gpus) {
  report::Chart chart;
  chart.key = "timeline";
  chart.title = gpus.size() > 1 ? "What the GPUs did, over time" : "What the GPU did, over time";
  chart.x = {"Time since the first operation", report::Kind::kTime};
  chart.y = {"Share of the time", report::Kind::kPercent};
  if (gpus.empty()) return chart;
  trace::Interval all = gpus.begin()->second.extent;
  for (const auto& [id, gpu] : gpus) {
    all.start_ns = std::min(all.start_ns, gpu.extent.start_ns);
    all.end_ns = std::max(all.end_ns, gpu.extent.end_ns);
  }
  const int64_t part_ns = std::max<int64_t>(1, (all.end_ns - all.start_ns + kParts - 1) / kParts);
  const auto count = static_cast<size_t>((all.end_ns - all.start_ns + part_ns - 1) / part_ns);
  for (size_t category = 0; category < trace::kCategories; ++category) {
    std::vector<double> parts(count, 0);
    for (const auto& [id, gpu] : gpus) cover(gpu.sets[category], all, part_ns, parts);
    if (std::all_of(parts.begin(), parts.end(), [](double ns) { return ns == 0; })) continue;
    report::Series series;
    series.name = trace::category_name(static_cast<trace::Category>(category));
    series.mark = report::Mark::kSteps;
    for (size_t part = 0; part < count; ++part) {
      const int64_t from_ns = static_cast<int64_t>(part) * part_ns;
      const int64_t length_ns = std::min(part_ns, all.end_ns - all.start_ns - from_ns);
      series.places.push_back(static_cast<double>(from_ns));
      series.values.push_back(100 * parts[part] /
                              (static_cast<double>(length_ns) * static_cast<double>(gpus.size())));
    }
    // The last step is drawn until the end.
    series.places.push_back(static_cast<double>(all.end_ns - all.start_ns));
    series.values.push_back(series.values.back());
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace sonde::analysis
