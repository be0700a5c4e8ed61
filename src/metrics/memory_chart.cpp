#include "metrics/memory_chart.h"

#include <fmt/format.h>

#include <cmath>

namespace sonde::metrics {
namespace {

using report::DiagramLine;
using report::Heads;

// Where the boxes stand: the kernel, the first level of caches, the L2, and what is behind it.
constexpr int kKernel = 0, kFirst = 26, kL2 = 50, kFabric = 71;
constexpr int kKernelWidth = 17, kFirstWidth = 15, kL2Width = 12, kFabricWidth = 9;
constexpr int kToFirst = kKernel + kKernelWidth, kToL2 = kFirst + kFirstWidth,
              kToFabric = kL2 + kL2Width;
constexpr int kGap = 9;
constexpr int kLdsRow = 0, kVectorRow = 5, kScalarRow = 12, kInstructionRow = 18, kRows = 22;

class Drawing {
 public:
  explicit Drawing(const Panel& panel) : panel_(panel) {}

  std::optional<double> figure(std::string_view metric) const {
    for (const PanelRow& row : panel_.rows) {
      if (row.name == metric && !row.figures.empty()) return row.figures[0];
    }
    return std::nullopt;
  }
  DiagramLine count(const char* label, std::string_view metric) const {
    return {label, short_count(figure(metric))};
  }
  DiagramLine percent(const char* label, std::string_view metric) const {
    const auto value = figure(metric);
    return {label, value ? short_count(value) + "%" : "-"};
  }
  DiagramLine bytes(const char* label, std::string_view metric) const {
    const auto value = figure(metric);
    return {label, value ? short_count(value) + " B" : "-"};
  }
  void box(const char* title, int column, int row, int width, int height,
           std::vector<DiagramLine> lines) {
    diagram.boxes.push_back({title, column, row, width, height, std::move(lines)});
  }
  void arrow(int column, int row, Heads heads, const char* label, std::string_view metric) {
    diagram.arrows.push_back({column,
                              row,
                              kGap,
                              false,
                              heads,
                              {fmt::format("{} {}", label, short_count(figure(metric)))}});
  }
  // Reads, writes and atomics, one below the other.
  void arrows(int column, int row, const std::string& between) {
    arrow(column, row, Heads::kBack, "Rd", between + " Rd");
    arrow(column, row + 1, Heads::kForth, "Wr", between + " Wr");
    arrow(column, row + 2, Heads::kBoth, "At", between + " Atomic");
  }

  report::Diagram diagram;

 private:
  const Panel& panel_;
};

void draw_kernel(Drawing& to) {
  const auto active = to.figure("Active CUs"), all = to.figure("Num CUs");
  to.box("Kernel", kKernel, 0, kKernelWidth, kRows,
         {to.count("Wavefronts", "Wavefronts"),
          to.count("Workgroups", "Workgroups"),
          to.count("Occupancy", "Wavefront Occupancy"),
          to.count("Wave life", "Wave Life"),
          {"CUs", fmt::format("{} / {}", short_count(active), short_count(all))},
          to.count("VGPRs", "VGPR"),
          to.count("SGPRs", "SGPR"),
          to.bytes("LDS", "LDS Allocation"),
          to.bytes("Scratch", "Scratch Allocation"),
          {},
          {"Instructions", ""},
          to.count(" SALU", "SALU"),
          to.count(" SMEM", "SMEM"),
          to.count(" VALU", "VALU"),
          to.count(" MFMA", "MFMA"),
          to.count(" VMEM", "VMEM"),
          to.count(" LDS", "LDS"),
          to.count(" GWS", "GWS"),
          to.count(" Branch", "BR")});
}

void draw_first_level(Drawing& to) {
  to.box("LDS", kFirst, kLdsRow, kFirstWidth, 4,
         {to.percent("Used", "LDS Util"), to.count("Latency", "LDS Latency")});
  to.box("vL1D", kFirst, kVectorRow, kFirstWidth, 6,
         {to.percent("Hits", "VL1 Hit"), to.count("Latency", "VL1 Lat"),
          to.percent("Coalesc.", "VL1 Coalesce"), to.percent("Stalled", "VL1 Stall")});
  to.box("sL1D", kFirst, kScalarRow, kFirstWidth, 5,
         {to.percent("Hits", "sL1D Hit"), to.count("Latency", "sL1D Lat")});
  to.box("L1I", kFirst, kInstructionRow, kFirstWidth, 4,
         {to.percent("Hits", "IL1 Hit"), to.count("Latency", "IL1 Lat")});
  to.arrow(kToFirst, kLdsRow + 1, Heads::kBoth, "Rq", "LDS Req");
  to.arrows(kToFirst, kVectorRow + 1, "VL1");
  to.arrow(kToFirst, kScalarRow + 1, Heads::kBack, "Rd", "sL1D Rd");
  to.arrow(kToFirst, kInstructionRow + 1, Heads::kBack, "Rd", "IL1 Fetch");
}

}  // namespace

std::string short_count(std::optional<double> count) {
  if (!count || !std::isfinite(*count)) return "-";
  double value = std::round(std::abs(*count));
  if (value < 10'000) return fmt::format("{:.0f}", std::round(*count));
  for (const char unit : {'K', 'M', 'G', 'T', 'P', 'E'}) {
    value /= 1000;
    if (value < 9.95) return fmt::format("{:.1f}{}", value, unit);
    if (value < 999.5) return fmt::format("{:.0f}{}", value, unit);
  }
  return "huge";
}

report::Diagram memory_chart_of(const Panel& panel) {
  Drawing to(panel);
  to.diagram.key = "memory_chart";
  to.diagram.title = "Memory chart: requests between the levels of memory, latencies in cycles";
  to.diagram.height = kRows;
  draw_kernel(to);
  draw_first_level(to);
  to.arrows(kToL2, kVectorRow + 1, "VL1_L2");
  to.arrows(kToL2, kScalarRow + 1, "sL1D_L2");
  to.arrow(kToL2, kInstructionRow + 1, Heads::kBack, "Rd", "IL1_L2 Rd");
  to.box("L2", kL2, kVectorRow, kL2Width, kRows - kVectorRow,
         {to.percent("Hits", "L2 Hit"),
          to.count("Rd", "L2 Rd"),
          to.count("Wr", "L2 Wr"),
          to.count("At", "L2 Atomic"),
          {},
          {"Latency", ""},
          to.count(" Rd", "L2 Rd Lat"),
          to.count(" Wr", "L2 Wr Lat")});
  to.arrows(kToFabric, kVectorRow + 1, "Fabric_L2");
  to.box("Fabric", kFabric, kVectorRow, kFabricWidth, 7,
         {{"Latency", ""},
          to.count("Rd", "Fabric Rd Lat"),
          to.count("Wr", "Fabric Wr Lat"),
          to.count("At", "Fabric Atomic Lat")});
  to.diagram.arrows.push_back(
      {kFabric + 1,
       kVectorRow + 7,
       4,
       true,
       Heads::kBoth,
       {"Rd " + short_count(to.figure("HBM Rd")), "Wr " + short_count(to.figure("HBM Wr"))}});
  to.box("HBM", kFabric, kVectorRow + 11, kFabricWidth, 3, {});
  return to.diagram;
}

}  // namespace sonde::metrics
