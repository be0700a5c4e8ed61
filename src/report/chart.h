// Chart: a picture of a report's figures as a value, and its drawing as SVG. Reports that go into
// pages build it; chart_svg() writes one self-contained <svg> element that inherits the text colour
// of the page, so that it reads on light and on dark, and that needs no script and no network.
// Values that are not finite are left out; so are values <= 0 on a logarithmic axis.
#pragma once

#include <string>
#include <vector>

#include "report/value.h"

namespace sonde::report {

// Values are in the base unit of the kind (nanoseconds, bytes, percent); the ticks choose a larger
// unit and the title names it.
struct Axis {
  std::string title;  // "Time"; of kReal and kInteger with its unit: "TFLOP/s"
  Kind kind = Kind::kReal;
  bool logarithmic = false;  // in plots only
};

enum class Mark { kLine, kSteps, kPoints };

struct Series {
  std::string name;  // in the legend, which a chart of several series has
  std::vector<double> values;
  std::vector<double> places;       // plots: where on the x axis, one for each value
  Mark mark = Mark::kLine;          // plots
  std::vector<std::string> labels;  // plots: what a point is, shown while the mouse is on it
  std::vector<double> shares = {};  // plots: the area of a point, 1 for the largest that there is
  int colour = -1;                  // of the series of that number; -1: of its own
  // A quiet line whose name stands at its right end and not in the legend.
  bool is_named_at_end = false;
};

struct Chart {
  std::string key;
  std::string title;
  // Bars: a horizontal bar for each row, the series stacked in it from zero on, negative values to
  // the left. Without rows the chart is a plot: the series over the x axis.
  std::vector<std::string> rows;
  Axis x;
  Axis y;  // plots
  std::vector<Series> series;
  double height = 240;  // plots
};

std::string chart_svg(const Chart& chart);

}  // namespace sonde::report
