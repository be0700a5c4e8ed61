#include "metrics/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "metrics/evaluate.h"
#include "metrics/panels.h"
#include "report/unit.h"

namespace sonde::metrics {
namespace {

using namespace report::columns;
using report::Kind;

struct BandwidthRoof {
  const char* name;
  const char* measured;  // column of roofline.csv
  const char* metric;    // whose peak it is otherwise
};
constexpr BandwidthRoof kBandwidths[] = {{"HBM", "HBMBw", "L2-Fabric Read BW"},
                                         {"L2", "L2Bw", "L2 Cache BW"},
                                         {"L1", "L1Bw", "vL1D Cache BW"},
                                         {"LDS", "LDSBw", "Theoretical LDS Bandwidth"}};

struct TypeRoofs {
  const char* type;
  const char* vector;         // column of roofline.csv; "": there is none
  const char* vector_metric;  // whose peak it is otherwise
  const char* matrix;
  const char* matrix_metric;
};
constexpr TypeRoofs kTypes[] = {
    {"FP64", "FP64Flops", "", "MFMAF64Flops", "MFMA FLOPs (F64)"},
    {"FP32", "FP32Flops", "VALU FLOPs", "MFMAF32Flops", "MFMA FLOPs (F32)"},
    {"FP16", "FP16Flops", "", "MFMAF16Flops", "MFMA FLOPs (F16)"},
    {"BF16", "BF16Flops", "", "MFMABF16Flops", "MFMA FLOPs (BF16)"},
    {"FP8", "FP8Flops", "", "MFMAF8Flops", "MFMA FLOPs (F8)"},
    {"I8", "I8Ops", "", "MFMAI8Ops", "MFMA IOPs (Int8)"},
    {"I32", "I32Ops", "", "", ""},
    {"I64", "I64Ops", "", "", ""}};

std::optional<double> positive(std::optional<double> number) {
  return number && std::isfinite(*number) && *number > 0 ? number : std::nullopt;
}

class RoofReader {
 public:
  RoofReader(const Definitions& definitions, const Workload& workload, size_t device)
      : definitions_(definitions), evaluator_(definitions, workload, "kernel") {
    if (device < workload.roofs.size()) measured_ = &workload.roofs[device];
  }

  void add(const std::string& name, bool is_bandwidth, const char* column, const char* metric,
           std::vector<Roof>& roofs) {
    if (measured_ != nullptr) {
      const auto found = measured_->find(column);
      if (found != measured_->end()) roofs.push_back({name, is_bandwidth, found->second, true});
      if (found != measured_->end()) return;
    }
    const Metric* known = definitions_.find(metric);
    if (known == nullptr) return;
    const auto peak = positive(mean_of(evaluator_.evaluate(known->peak, "")));
    if (peak) roofs.push_back({name, is_bandwidth, *peak, false});
  }

 private:
  const Definitions& definitions_;
  Evaluator evaluator_;
  const Roofs* measured_ = nullptr;
};

std::optional<double> mean_over(const Value& value, const std::vector<size_t>& rows) {
  if (value.kind != Value::Kind::kColumn) return std::nullopt;
  double sum = 0;
  size_t count = 0;
  for (const size_t row : rows) {
    if (std::isnan((*value.column)[row])) continue;
    sum += (*value.column)[row];
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

// Nothing moved: there is no such intensity.
std::optional<double> intensity(std::optional<double> flops, std::optional<double> bytes) {
  return flops && positive(bytes) ? std::optional(*flops / *bytes) : std::nullopt;
}

struct Columns {
  Value flops, hbm, l2, l1, lds, time;
};

RooflinePoint point_of(const Columns& columns, const std::vector<size_t>& rows) {
  RooflinePoint point;
  point.dispatches = rows.size();
  point.mean_flops = mean_over(columns.flops, rows);
  point.mean_ns = positive(mean_over(columns.time, rows));
  if (point.mean_flops && point.mean_ns) point.gflop_per_s = *point.mean_flops / *point.mean_ns;
  point.hbm = intensity(point.mean_flops, mean_over(columns.hbm, rows));
  point.l2 = intensity(point.mean_flops, mean_over(columns.l2, rows));
  point.l1 = intensity(point.mean_flops, mean_over(columns.l1, rows));
  point.lds = intensity(point.mean_flops, mean_over(columns.lds, rows));
  return point;
}

// The highest compute roof of the chosen type.
const Roof* compute_roof(const Roofline& roofline, const std::string& type) {
  const Roof* best = nullptr;
  for (const Roof& roof : roofline.roofs) {
    const bool fits = roof.name == type || roof.name == "Matrix " + type;
    if (!roof.is_bandwidth && fits && (best == nullptr || roof.value > best->value)) best = &roof;
  }
  return best;
}

struct Limit {
  std::string name;
  double gflop_per_s = 0;
};

// The lowest of the roofs above a point.
std::optional<Limit> limit_of(const Roofline& roofline, const RooflinePoint& point,
                              const std::string& type) {
  std::optional<Limit> limit;
  const auto lower = [&](const std::string& name, double value) {
    if (!limit || value < limit->gflop_per_s) limit = Limit{name, value};
  };
  for (const Roof& roof : roofline.roofs) {
    const auto at = roof.name == "HBM"   ? point.hbm
                    : roof.name == "L2"  ? point.l2
                    : roof.name == "L1"  ? point.l1
                    : roof.name == "LDS" ? point.lds
                                         : std::nullopt;
    if (roof.is_bandwidth && at) lower(roof.name, *at * roof.value);
  }
  if (const Roof* compute = compute_roof(roofline, type)) lower(compute->name, compute->value);
  return limit;
}

bool is_integer(const Roof& roof) {
  return roof.name.find("FP") == roof.name.npos && roof.name.find("BF") == roof.name.npos;
}

// "FLOP/s" ...
const char* unit_of(const Roof& roof) {
  if (roof.is_bandwidth) return "B/s";
  return is_integer(roof) ? "IOP/s" : "FLOP/s";
}

report::Value value_of(std::optional<double> number) {
  return number ? report::Value(*number) : report::Value();
}

report::Section roofs_section(const Roofline& roofline, bool on_softgpu) {
  const char* const measured = on_softgpu ? "measured on a software GPU" : "measured";
  report::Section section{.key = "roofs", .title = "Roofs"};
  section.table.add_columns({text("roof", "Roof"), real("value", "Value"), text("unit", "Unit"),
                             text("source", "Source")});
  for (const Roof& roof : roofline.roofs) {
    section.table.add_row({roof.name, roof.value, std::string("G") + unit_of(roof),
                           roof.is_measured ? measured : "theoretical"});
  }
  section.empty_text = "Neither measured roofs nor the clocks of the GPU are known.";
  return section;
}

// "1.39 TB/s" of GB/s.
std::string rate_text(const Roof& roof, bool is_marked) {
  const bool is_large = roof.value >= 1000;
  return fmt::format("{} {} {}{}{}", roof.name,
                     report::text_of_real(is_large ? roof.value / 1000 : roof.value),
                     is_large ? "T" : "G", unit_of(roof), is_marked ? "*" : "");
}

struct Reach {
  double least = 0.01, most = 100;  // of the intensities
  double top = 0;                   // the highest compute roof
  double steepest = 0;              // the highest bandwidth
};

report::Series roof_line(const Roof& roof, const Reach& reach, bool is_marked) {
  report::Series series;
  series.name = rate_text(roof, is_marked);
  series.is_named_at_end = !roof.is_bandwidth;
  if (roof.is_bandwidth) {
    const double bend = std::max(reach.top / roof.value, reach.least);
    series.places = {reach.least, bend};
    series.values = {reach.least * roof.value, bend * roof.value};
  } else {
    // To the left of the steepest bandwidth no kernel can be.
    const double begin = reach.steepest > 0 ? roof.value / reach.steepest : reach.least;
    series.places = {std::max(begin, reach.least), reach.most};
    series.values = {roof.value, roof.value};
  }
  return series;
}

struct Level {
  const char* name;
  std::optional<double> RooflinePoint::*intensity;
};
constexpr Level kLevels[] = {{"HBM", &RooflinePoint::hbm},
                             {"L2", &RooflinePoint::l2},
                             {"L1", &RooflinePoint::l1},
                             {"LDS", &RooflinePoint::lds}};

report::Series dots_of(const Roofline& roofline, const Level& level, Reach& reach) {
  report::Series series;
  series.name = std::string("kernels by bytes of ") + level.name;
  series.mark = report::Mark::kPoints;
  for (const RooflinePoint& point : roofline.points) {
    const auto place = point.*level.intensity;
    if (!positive(place) || !positive(point.gflop_per_s)) continue;
    series.places.push_back(*place);
    series.values.push_back(*point.gflop_per_s);
    series.shares.push_back(point.share);
    series.labels.push_back(
        fmt::format("{}: {:.1f} % of the time", point.kernel, 100 * point.share));
    reach.least = std::min(reach.least, *place / 2);
    reach.most = std::max(reach.most, *place * 2);
  }
  return series;
}

std::string title_of(const Roofline& roofline, bool on_softgpu) {
  const std::string measured =
      on_softgpu ? "Roofline: roofs measured on a software GPU" : "Roofline: measured roofs";
  const auto count = std::count_if(roofline.roofs.begin(), roofline.roofs.end(),
                                   [](const Roof& roof) { return roof.is_measured; });
  if (count == 0) return "Roofline: theoretical roofs";
  return static_cast<size_t>(count) == roofline.roofs.size()
             ? measured
             : measured + ", those with * theoretical";
}

// A roof of bandwidth and the dots by its bytes have one colour.
report::Chart chart_of(const Roofline& roofline, bool on_softgpu) {
  report::Chart chart;
  chart.key = "roofline";
  chart.title = title_of(roofline, on_softgpu);
  chart.x = {"Intensity (FLOP/B)", Kind::kReal, true};
  chart.y = {"GFLOP/s", Kind::kReal, true};
  chart.height = 400;
  Reach reach;
  std::vector<report::Series> dots;
  for (const Level& level : kLevels) {
    dots.push_back(dots_of(roofline, level, reach));
    dots.back().colour = static_cast<int>(dots.size()) - 1;
  }
  bool is_any_measured = false;
  for (const Roof& roof : roofline.roofs) {
    double& highest = roof.is_bandwidth ? reach.steepest : reach.top;
    highest = std::max(highest, roof.value);
    is_any_measured = is_any_measured || roof.is_measured;
  }
  if (reach.top == 0) return chart;
  for (const Roof& roof : roofline.roofs) {
    if (roof.is_bandwidth) reach.most = std::max(reach.most, 2 * reach.top / roof.value);
  }
  for (const Roof& roof : roofline.roofs) {
    const bool is_marked = is_any_measured && !roof.is_measured;
    chart.series.push_back(roof_line(roof, reach, is_marked));
    const auto level = std::find_if(std::begin(kLevels), std::end(kLevels), [&](const Level& one) {
      return roof.is_bandwidth && roof.name == one.name;
    });
    if (level != std::end(kLevels)) {
      chart.series.back().colour = static_cast<int>(level - std::begin(kLevels));
    }
  }
  for (report::Series& series : dots) {
    if (!series.places.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string without_dots(const Roofline& roofline) {
  const auto count =
      std::count_if(roofline.points.begin(), roofline.points.end(), [](const RooflinePoint& point) {
        return !positive(point.gflop_per_s) ||
               std::none_of(std::begin(kLevels), std::end(kLevels), [&](const Level& level) {
                 return positive(point.*level.intensity).has_value();
               });
      });
  if (count == 0) return "";
  return fmt::format(
      "{} of {} have no dot in the picture: no floating point work, bytes or time "
      "of theirs is known.",
      count, roofline.points.size());
}

report::Section points_section(const Roofline& roofline, const RooflineOptions& options,
                               bool on_softgpu) {
  report::Section section{.key = "points"};
  report::Table& table = section.table;
  table.add_column(name("kernel", "Kernel"));
  if (options.by_dispatch) table.add_column(id("dispatch", "Dispatch"));
  if (!options.by_dispatch) table.add_column(integer("dispatches", "Dispatches"));
  table.add_columns({percent("share", "Time"), real("gflop_per_s", "GFLOP/s"),
                     real("ai_hbm", "FLOP/B HBM"), real("ai_l2", "of L2"), real("ai_l1", "of L1"),
                     real("ai_lds", "of LDS"), text("roof", "Lowest roof"),
                     percent("of_roof", "Of roof")});
  for (const RooflinePoint& point : roofline.points) {
    const auto limit =
        positive(point.gflop_per_s) ? limit_of(roofline, point, options.type) : std::nullopt;
    const auto count = static_cast<int64_t>(point.dispatches);
    table.add_row(
        {point.kernel, options.by_dispatch ? point.dispatch.value_or(0) : count, 100 * point.share,
         value_of(point.gflop_per_s), value_of(point.hbm), value_of(point.l2), value_of(point.l1),
         value_of(point.lds), limit ? report::Value(limit->name) : report::Value(),
         limit ? report::Value(100 * *point.gflop_per_s / limit->gflop_per_s) : report::Value()});
  }
  section.title = options.title;
  section.charts.push_back(chart_of(roofline, on_softgpu));
  if (section.charts.back().series.empty()) section.charts.clear();
  const std::string missing = without_dots(roofline);
  if (!section.charts.empty() && !missing.empty()) section.remarks.push_back(missing);
  return section;
}

}  // namespace

std::vector<std::string> roofline_types() {
  std::vector<std::string> types;
  for (const TypeRoofs& type : kTypes) types.push_back(type.type);
  return types;
}

Result<Roofline> roofline_of(const Definitions& definitions, const Workload& workload,
                             const RooflineOptions& options) {
  if (!workload.roofs.empty() && options.device >= workload.roofs.size()) {
    return make_error(ErrorCode::kInvalidArgument,
                      fmt::format("there are roofs of {} devices", workload.roofs.size()),
                      "--device");
  }
  Roofline roofline;
  RoofReader reader(definitions, workload, options.device);
  for (const BandwidthRoof& roof : kBandwidths) {
    reader.add(roof.name, true, roof.measured, roof.metric, roofline.roofs);
  }
  for (const TypeRoofs& type : kTypes) {
    reader.add(type.type, false, type.vector, type.vector_metric, roofline.roofs);
    reader.add(std::string("Matrix ") + type.type, false, type.matrix, type.matrix_metric,
               roofline.roofs);
  }
  Evaluator evaluator(definitions, workload, "kernel");
  const Columns columns{evaluator.variable("flops", ""),     evaluator.variable("hbm_bytes", ""),
                        evaluator.variable("l2_bytes", ""),  evaluator.variable("l1_bytes", ""),
                        evaluator.variable("lds_bytes", ""), evaluator.variable("duration", "")};
  const std::vector<KernelRows> kernels = by_kernel(workload);
  double total_ns = 0;
  for (const KernelRows& kernel : kernels) total_ns += kernel.total_ns;
  const std::vector<double> times = durations(workload);
  const auto share = [&](double ns) { return total_ns > 0 && ns > 0 ? ns / total_ns : 0; };
  for (const KernelRows& kernel : kernels) {
    if (!options.by_dispatch) {
      roofline.points.push_back(point_of(columns, kernel.rows));
      roofline.points.back().kernel = kernel.name;
      roofline.points.back().share = share(kernel.total_ns);
    }
    for (size_t i = 0; options.by_dispatch && i < kernel.rows.size(); ++i) {
      roofline.points.push_back(point_of(columns, {kernel.rows[i]}));
      roofline.points.back().kernel = kernel.name;
      roofline.points.back().dispatch = workload.dispatches[kernel.rows[i]];
      roofline.points.back().share = share(times[kernel.rows[i]]);
    }
  }
  std::stable_sort(roofline.points.begin(), roofline.points.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return roofline;
}

report::Report roofline_report(const Roofline& roofline, const Workload& workload,
                               const RooflineOptions& options) {
  report::Report report;
  report.name = "roofline";
  report.subject = workload.path;
  report.warnings = workload.warnings;
  report.sections.push_back(points_section(roofline, options, workload.on_softgpu));
  report.sections.push_back(roofs_section(roofline, workload.on_softgpu));
  return report;
}

}  // namespace sonde::metrics
