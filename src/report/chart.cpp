#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/join.h"
#include "base/strings.h"
#include "report/axis_scale.h"
#include "report/html.h"
#include "report/layout.h"
#include "report/render.h"

namespace sonde::report {
namespace {

constexpr double kWidth = 760;
constexpr double kLineHeight = 18;
constexpr double kBarHeight = 22;
constexpr double kLabelWidth = 230;  // room for the names of bars
constexpr size_t kLabelLength = 34;  // characters that fit into it
constexpr double kTickWidth = 60;    // room for the ticks of a y axis
constexpr double kRight = 24;
constexpr double kPointRadius = 4, kLeastRadius = 2.5;
constexpr double kMostRadius = 16;  // of a share of 1; no more than kRight
constexpr double kEndGap = 18;      // between a plot and the names of its lines
constexpr int kTicksAcross = 8;
constexpr int kTicksUp = 5;

// Told apart with the common kinds of colour blindness, and with enough contrast on white and on
// black: a middle lightness for all.
constexpr const char* kColours[] = {"#3b82c4", "#d97b29", "#4a9d5b", "#b8557f",
                                    "#8b7bc8", "#9a8a2e", "#2f9c9c", "#888888"};

// What a series is called decides its colour where it is one that several charts have.
const char* colour_of(const Series& series, size_t number) {
  if (series.is_named_at_end) return "currentColor";
  if (series.colour >= 0) number = static_cast<size_t>(series.colour);
  constexpr std::pair<std::string_view, size_t> kNamed[] = {
      {"compute", 0}, {"time", 0},         {"usual", 0},          {"exposed communication", 1},
      {"slow", 1},    {"exposed copy", 2}, {"exposed memset", 3}, {"CPU time", 4},
      {"other", 5},   {"idle", 7}};
  for (const auto& [name, colour] : kNamed) {
    if (series.name == name) return kColours[colour];
  }
  return kColours[number % std::size(kColours)];
}

bool drawable(double value, const Axis& axis) {
  return std::isfinite(value) && (!axis.logarithmic || value > 0);
}

std::string text_at(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     html_escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, double opacity) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" "
      "stroke-opacity=\"{}\"/>\n",
      x1, y1, x2, y2, opacity);
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void cover(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

// The frame that both kinds of chart are drawn into, in pixels.
struct Frame {
  double left, top, width, height;
};

// The legend, a line of coloured names; nothing for a single series. Returns its height.
double append_legend(std::string& out, const Chart& chart, double top) {
  if (chart.series.size() < 2) return 0;
  double x = 8;
  double y = top + 12;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    if (chart.series[s].is_named_at_end) continue;
    const std::string name = ellipsize(chart.series[s].name, kLabelLength);
    const double width = 24 + 7.0 * static_cast<double>(display_width(name)) + 12;
    if (x + width > kWidth && x > 8) {
      x = 8;
      y += kLineHeight;
    }
    const bool is_line = chart.x.logarithmic && chart.series[s].mark != Mark::kPoints;
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"{}\" rx=\"{}\" fill=\"{}\"/>\n", x,
        is_line ? y - 5 : y - 10, is_line ? 2 : 12, chart.x.logarithmic && !is_line ? 6 : 0,
        colour_of(chart.series[s], s));
    out += text_at(x + 18, y, "start", name);
    x += width;
  }
  return y - top + kLineHeight;
}

void append_x_axis(std::string& out, const Frame& frame, const AxisScale& scale) {
  const double bottom = frame.top + frame.height;
  for (const Tick& tick : scale.ticks()) {
    const double x = frame.left + scale.share(tick.value) * frame.width;
    out += line(x, frame.top, x, bottom, tick.value == 0 ? 0.6 : 0.15);
    out += text_at(x, bottom + 15, "middle", tick.text);
  }
  out += text_at(frame.left + frame.width / 2, bottom + 33, "middle", scale.title());
}

void append_y_axis(std::string& out, const Frame& frame, const AxisScale& scale) {
  for (const Tick& tick : scale.ticks()) {
    const double y = frame.top + (1 - scale.share(tick.value)) * frame.height;
    out += line(frame.left, y, frame.left + frame.width, y, tick.value == 0 ? 0.6 : 0.15);
    out += text_at(frame.left - 6, y + 4, "end", tick.text);
  }
  out += text_at(8, frame.top - 8, "start", scale.title());
}

// A value for the mouse: "copy: 12.3 ms".
std::string hint(const std::string& name, double value, const Axis& axis) {
  Column column;
  column.kind = axis.kind;
  const bool whole =
      axis.kind == Kind::kTime || axis.kind == Kind::kBytes || axis.kind == Kind::kInteger;
  const bool fits = std::abs(value) < 9e18;
  const Value shown =
      whole && fits ? Value(static_cast<int64_t>(std::llround(value))) : Value(value);
  if (whole && !fits) column.kind = Kind::kReal;
  const std::string text = text_of(shown, column) + (axis.kind == Kind::kPercent ? " %" : "");
  return name.empty() ? text : name + ": " + text;
}

void append_bar(std::string& out, const Chart& chart, size_t row, const Frame& frame,
                const AxisScale& scale) {
  const double y = frame.top + static_cast<double>(row) * kBarHeight;
  double right = 0;
  double left = 0;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const auto& series = chart.series[s];
    if (row >= series.values.size() || !drawable(series.values[row], chart.x)) continue;
    const double value = series.values[row];
    double& end = value < 0 ? left : right;
    const double from = scale.share(std::min(end, end + value));
    const double to = scale.share(std::max(end, end + value));
    end += value;
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\">"
        "<title>{}</title></rect>\n",
        frame.left + from * frame.width, y + 3, (to - from) * frame.width, kBarHeight - 6,
        colour_of(series, s), html_escaped(hint(series.name, value, chart.x)));
  }
  out += fmt::format("<g><title>{}</title>", html_escaped(chart.rows[row]));
  out += text_at(frame.left - 8, y + 15, "end", ellipsize(chart.rows[row], kLabelLength));
  out += "</g>\n";
}

Range range_of_bars(const Chart& chart) {
  Range range;
  range.cover(0);
  for (size_t row = 0; row < chart.rows.size(); ++row) {
    double right = 0;
    double left = 0;
    for (const auto& series : chart.series) {
      if (row >= series.values.size() || !drawable(series.values[row], chart.x)) continue;
      (series.values[row] < 0 ? left : right) += series.values[row];
    }
    range.cover(left);
    range.cover(right);
  }
  return range;
}

double append_bars(std::string& out, const Chart& chart, double top) {
  const Frame frame{kLabelWidth, top + 4, kWidth - kLabelWidth - kRight,
                    static_cast<double>(chart.rows.size()) * kBarHeight};
  Axis axis = chart.x;
  axis.logarithmic = false;  // the length of a bar is its value
  const Range range = range_of_bars(chart);
  const AxisScale scale(axis, range.low, range.high, kTicksAcross);
  append_x_axis(out, frame, scale);
  for (size_t row = 0; row < chart.rows.size(); ++row) append_bar(out, chart, row, frame, scale);
  return frame.top + frame.height + 42;
}

struct Scales {
  AxisScale x, y;
};

struct Place {
  double x, y;
};

void append_path(std::string& out, const std::vector<Place>& places, bool steps,
                 const char* colour) {
  std::string path;
  for (const Place& place : places) {
    if (path.empty()) {
      path = fmt::format("M{:.1f} {:.1f}", place.x, place.y);
    } else {
      if (steps) path += fmt::format("H{:.1f}", place.x);
      path += fmt::format("L{:.1f} {:.1f}", place.x, place.y);
    }
  }
  if (path.empty()) return;
  out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path,
                     colour);
}

double radius_of(const Series& series, size_t point) {
  if (point >= series.shares.size()) return kPointRadius;
  return std::max(kMostRadius * std::sqrt(std::clamp(series.shares[point], 0.0, 1.0)),
                  kLeastRadius);
}

struct EndName {
  double line, text;  // height of the line and of its name
  double from;        // where the line ends
  std::string name;
};

// Room for the names of lines at their right ends.
double width_of_end_names(const Chart& chart) {
  size_t longest = 0;
  for (const Series& series : chart.series) {
    if (series.is_named_at_end) longest = std::max(longest, display_width(series.name));
  }
  return longest == 0 ? 0 : kEndGap + 7.0 * static_cast<double>(std::min(longest, kLabelLength));
}

// The names one below the other, each as near to its line as the others let it be.
void spread(std::vector<EndName>& names, double bottom) {
  constexpr double kLeastGap = 14;
  std::stable_sort(names.begin(), names.end(),
                   [](const EndName& a, const EndName& b) { return a.line < b.line; });
  for (size_t i = 1; i < names.size(); ++i) {
    names[i].text = std::max(names[i].text, names[i - 1].text + kLeastGap);
  }
  for (size_t i = names.size(); i-- > 0; bottom = names[i].text - kLeastGap) {
    names[i].text = std::min(names[i].text, bottom);
  }
}

// The names of quiet lines to the right of the plot, which the lines are continued to.
void append_end_names(std::string& out, const Chart& chart, const Frame& frame,
                      const Scales& scales) {
  const double right = frame.left + frame.width;
  std::vector<EndName> names;
  for (const Series& series : chart.series) {
    if (!series.is_named_at_end || series.values.empty() || series.places.empty()) continue;
    if (!drawable(series.values.back(), chart.y)) continue;
    const double y = frame.top + (1 - scales.y.share(series.values.back())) * frame.height;
    const double from = frame.left + scales.x.share(series.places.back()) * frame.width;
    names.push_back({y, y, from, ellipsize(series.name, kLabelLength)});
  }
  spread(names, frame.top + frame.height);
  for (const EndName& name : names) {
    append_path(out, {{name.from, name.line}, {right, name.line}}, false, "currentColor");
    out += line(right, name.line, right + kEndGap - 4, name.text, 0.4);
    out += text_at(right + kEndGap, name.text + 4, "start", name.name);
  }
}

void append_series(std::string& out, const Chart& chart, size_t s, const Frame& frame,
                   const Scales& scales) {
  const Series& series = chart.series[s];
  std::vector<Place> places;
  for (size_t i = 0; i < std::min(series.values.size(), series.places.size()); ++i) {
    if (!drawable(series.values[i], chart.y) || !drawable(series.places[i], chart.x)) continue;
    const Place place{frame.left + scales.x.share(series.places[i]) * frame.width,
                      frame.top + (1 - scales.y.share(series.values[i])) * frame.height};
    places.push_back(place);
    if (series.mark != Mark::kPoints) continue;
    const std::string& name = i < series.labels.size() ? series.labels[i] : series.name;
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.3g}\" fill=\"{}\" fill-opacity=\"0.7\">"
        "<title>{}</title></circle>\n",
        place.x, place.y, radius_of(series, i), colour_of(series, s),
        html_escaped(hint(name, series.values[i], chart.y)));
  }
  if (series.mark != Mark::kPoints)
    append_path(out, places, series.mark == Mark::kSteps, colour_of(series, s));
}

double append_plot(std::string& out, const Chart& chart, double top) {
  Range x;
  Range y;
  for (const auto& series : chart.series) {
    for (size_t i = 0; i < std::min(series.values.size(), series.places.size()); ++i) {
      if (!drawable(series.values[i], chart.y) || !drawable(series.places[i], chart.x)) continue;
      x.cover(series.places[i]);
      y.cover(series.values[i]);
    }
  }
  if (x.empty()) {
    out += text_at(kWidth / 2, top + 20, "middle", "no values");
    return top + 2 * kLineHeight;
  }
  if (!chart.y.logarithmic) y.cover(0);
  const double right = std::max(kRight, width_of_end_names(chart));
  const Frame frame{kTickWidth, top + 24, kWidth - kTickWidth - right, chart.height};
  const Scales scales{AxisScale(chart.x, x.low, x.high, kTicksAcross),
                      AxisScale(chart.y, y.low, y.high, kTicksUp)};
  append_x_axis(out, frame, scales.x);
  append_y_axis(out, frame, scales.y);
  for (size_t s = 0; s < chart.series.size(); ++s) append_series(out, chart, s, frame, scales);
  append_end_names(out, chart, frame, scales);
  return frame.top + frame.height + 42;
}

// For screen readers: the chart's title, or what is drawn of which rows, as in "compute, idle of
// GPU 0, GPU 1".
std::string spoken(const Chart& chart) {
  constexpr size_t kMostRows = 3;
  if (!chart.title.empty()) return chart.title;
  std::string text = join(chart.series, ", ", [](const Series& series) {
    return series.name.empty() ? "values" : series.name;
  });
  if (text.empty()) text = "no values";
  for (size_t row = 0; row < std::min(chart.rows.size(), kMostRows); ++row) {
    text += (row == 0 ? " of " : ", ") + chart.rows[row];
  }
  if (chart.rows.size() > kMostRows) {
    text += fmt::format(" and {} more", chart.rows.size() - kMostRows);
  }
  return text;
}

}  // namespace

std::string chart_svg(const Chart& chart) {
  std::string body;
  double top = 0;
  if (!chart.title.empty()) {
    body += fmt::format("<text x=\"8\" y=\"14\" font-weight=\"bold\">{}</text>\n",
                        html_escaped(chart.title));
    top += 24;
  }
  top += append_legend(body, chart, top);
  const double height =
      chart.rows.empty() ? append_plot(body, chart, top) : append_bars(body, chart, top);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "role=\"img\" aria-label=\"{}\" fill=\"currentColor\" font-family=\"system-ui, sans-serif\" "
      "font-size=\"12\">\n{}</svg>\n",
      kWidth, height, kWidth, html_escaped(spoken(chart)), body);
}

}  // namespace sonde::report
