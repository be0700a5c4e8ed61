// SVG: the pictures of a report alone, the first of them if there are several. It opens in any
// browser by itself.
#include "report/flame.h"
#include "report/html.h"
#include "report/render.h"

namespace sonde::report {

namespace {

std::string render(const Report& report, const RenderOptions&) {
  for (const Section& section : report.sections) {
    if (!section.flames.empty()) return flame_svg(section.flames.front());
    if (!section.charts.empty()) return chart_svg(section.charts.front());
    if (!section.diagrams.empty()) return diagram_svg(section.diagrams.front());
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 400 30\" width=\"400\">"
         "<text x=\"8\" y=\"20\" fill=\"currentColor\">sonde " +
         html_escaped(report.name) + ": nothing to draw</text></svg>\n";
}

// A table that is not held as a whole has no picture.
std::string render_part(const Report& report, const RenderOptions& options, Part& part) {
  return part.first ? render(report, options) : std::string();
}

}  // namespace

Renderer svg_renderer() {
  return {"svg", "the picture of a report, where it has one", true, false, render, render_part};
}

}  // namespace sonde::report
