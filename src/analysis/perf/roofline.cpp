#include "analysis/perf/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/unit.h"

namespace sonde::analysis {
namespace {

using report::Kind;

std::optional<double> ratio(double part, double whole) {
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

// The line min(peak, intensity * bandwidth) over the intensities of the rows, which it is drawn
// beyond so that the bend is seen.
report::Series roof(const PerfRow& row, double least, double most) {
  const double peak = *row.peak_tflop_per_s();
  const double bandwidth = *row.peak_gb_per_s();
  const double ridge = peak * 1e3 / bandwidth;
  report::Series series;
  series.name =
      fmt::format("{} {}{}: {} TFLOP/s", row.peak->name, row.each.type->name,
                  row.model->uses_matrix_units() ? "" : " vector", report::text_of_real(peak));
  for (const double intensity : {std::min(least, ridge) / 2, ridge, std::max(most, ridge) * 2}) {
    series.places.push_back(intensity);
    series.values.push_back(std::min(peak, intensity * bandwidth / 1e3));
  }
  return series;
}

}  // namespace

std::optional<double> PerfRow::intensity() const { return ratio(flops(), bytes()); }

std::optional<double> PerfRow::tflop_per_s() const {
  return ratio(flops() / 1e3, static_cast<double>(gpu_ns));
}

std::optional<double> PerfRow::gb_per_s() const {
  return ratio(bytes(), static_cast<double>(gpu_ns));
}

std::optional<double> PerfRow::peak_tflop_per_s() const {
  if (peak == nullptr) return std::nullopt;
  return peak->compute(each.type->precision, model->uses_matrix_units());
}

std::optional<double> PerfRow::peak_gb_per_s() const {
  return peak == nullptr ? std::nullopt : std::optional(peak->bandwidth_gb_per_s);
}

std::optional<Bound> bound_of(const PerfRow& row) {
  const auto bandwidth = row.peak_gb_per_s();
  const auto peak = row.peak_tflop_per_s();
  if (!bandwidth || (!peak && row.each.flops != 0)) return std::nullopt;
  const double compute_ns = row.each.flops == 0 ? 0 : row.flops() / (*peak * 1e3);
  const double memory_ns = row.bytes() / *bandwidth;
  return Bound{std::max(compute_ns, memory_ns), compute_ns > memory_ns};
}

report::Chart roofline_chart(const std::vector<PerfRow>& rows) {
  report::Chart chart;
  chart.key = "roofline";
  chart.title = "Roofline";
  chart.x = {"Intensity (FLOP/B)", Kind::kReal, true};
  chart.y = {"TFLOP/s", Kind::kReal, true};
  double least = 1e300;
  double most = 0;
  std::map<WorkKind, report::Series> points;
  for (const PerfRow& row : rows) {
    const auto intensity = row.intensity();
    const auto rate = row.tflop_per_s();
    if (!intensity || !rate || *rate <= 0) continue;
    least = std::min(least, *intensity);
    most = std::max(most, *intensity);
    report::Series& series = points[row.model->kind];
    series.mark = report::Mark::kPoints;
    series.name = work_kind_name(row.model->kind);
    series.places.push_back(*intensity);
    series.values.push_back(*rate);
    series.labels.push_back(row.name + " " + row.each.shape);
  }
  if (points.empty()) return chart;
  std::map<std::string, report::Series> roofs;  // by name: each once
  for (const PerfRow& row : rows) {
    if (row.each.flops == 0 || !row.peak_tflop_per_s()) continue;
    report::Series series = roof(row, least, most);
    roofs.emplace(series.name, std::move(series));
  }
  for (auto& [name, series] : roofs) chart.series.push_back(std::move(series));
  for (auto& [kind, series] : points) chart.series.push_back(std::move(series));
  return chart;
}

}  // namespace sonde::analysis
