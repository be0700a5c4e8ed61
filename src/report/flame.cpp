#include "report/flame.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "report/html.h"
#include "report/layout.h"
#include "report/render.h"

namespace sonde::report {
namespace {

constexpr double kWidth = 1160;
constexpr double kBoxHeight = 18;
constexpr double kTop = 64;           // title, legend and buttons
constexpr double kLetterWidth = 6.7;  // of 12 px, about
constexpr double kLeastWidth = 0.3;   // narrower boxes are not drawn
constexpr int kMostDeep = 512;

// As those of charts: told apart with the common kinds of colour blindness.
constexpr const char* kColours[] = {"#d97b29", "#3b82c4", "#4a9d5b", "#b8557f", "#888888"};

constexpr const char* kStyle =
    "<style>svg.flame{color-scheme:light dark}svg.flame text{fill:CanvasText;pointer-events:none}"
    "svg.flame .bg{fill:Canvas}svg.flame .b rect{fill-opacity:.55;stroke:Canvas;cursor:pointer}"
    "svg.flame .b:hover rect{fill-opacity:.85}svg.flame .past rect{fill-opacity:.2}"
    "svg.flame .hit rect{fill:#d6279a;fill-opacity:.8}svg.flame .button{cursor:pointer;"
    "pointer-events:all;text-decoration:underline}svg.flame .off{display:none}</style>\n";

// The boxes' places are kept in data-x and data-w, as parts of the whole.
constexpr const char* kScript = R"js(<script><![CDATA[
(function () {
  var svg = document.currentScript.closest ? document.currentScript.closest('svg')
                                           : document.currentScript.parentNode;
  var boxes = [].slice.call(svg.querySelectorAll('.b'));
  var width = +svg.dataset.width, letter = +svg.dataset.letter;
  var back = svg.querySelector('.back'), found = svg.querySelector('.found');
  function place(box, x, w) {
    var rect = box.firstElementChild, text = box.lastElementChild, name = box.dataset.n;
    rect.setAttribute('x', x);
    rect.setAttribute('width', Math.max(w - 0.5, 0.2));
    text.setAttribute('x', x + 3);
    var room = Math.floor((w - 6) / letter);
    text.textContent = room < 3 ? '' : name.length <= room ? name : name.slice(0, room - 1) + '\u2026';
  }
  function show(from, to, y) {
    boxes.forEach(function (box) {
      var x = +box.dataset.x, w = +box.dataset.w, depth = +box.dataset.y;
      var holds = depth < y && x <= from + 1e-9 && x + w >= to - 1e-9;
      var inside = depth >= y && x >= from - 1e-9 && x + w <= to + 1e-9;
      box.classList.toggle('off', !holds && !inside);
      box.classList.toggle('past', holds);
      if (holds) place(box, 0, width);
      if (inside) place(box, (x - from) / (to - from) * width, w / (to - from) * width);
    });
    back.classList.toggle('off', y === 0);
  }
  boxes.forEach(function (box) {
    box.addEventListener('click', function () {
      show(+box.dataset.x, +box.dataset.x + +box.dataset.w, +box.dataset.y);
    });
  });
  back.addEventListener('click', function () { show(0, 1, 0); });
  svg.querySelector('.search').addEventListener('click', function () {
    var word = (window.prompt('Functions whose name has:') || '').toLowerCase();
    var spans = [];
    boxes.forEach(function (box) {
      var hit = word !== '' && box.dataset.n.toLowerCase().indexOf(word) >= 0;
      box.classList.toggle('hit', hit);
      if (hit) spans.push([+box.dataset.x, +box.dataset.x + +box.dataset.w]);
    });
    spans.sort(function (a, b) { return a[0] - b[0]; });
    var end = 0, sum = 0;
    spans.forEach(function (span) {
      if (span[1] > end) { sum += span[1] - Math.max(span[0], end); end = span[1]; }
    });
    found.textContent = word === '' ? '' : word + ': ' + (100 * sum).toFixed(1) + ' %';
  });
})();
]]></script>
)js";

struct Place {
  double x = 0, width = 0;  // parts of the whole
  int depth = 0;
};

std::vector<Place> places_of(const FlameGraph& graph) {
  std::vector<Place> places(graph.boxes.size());
  std::vector<double> used(graph.boxes.size() + 1, 0);  // by children; the last: by the roots
  int64_t whole = 0;
  for (const FlameBox& box : graph.boxes) whole += box.parent < 0 ? box.total_ns : 0;
  for (size_t i = 0; i < graph.boxes.size(); ++i) {
    const FlameBox& box = graph.boxes[i];
    const size_t parent = box.parent < 0 ? graph.boxes.size() : static_cast<size_t>(box.parent);
    Place& place = places[i];
    place.width = whole > 0 ? static_cast<double>(box.total_ns) / static_cast<double>(whole) : 0;
    place.x = used[parent] + (box.parent < 0 ? 0 : places[parent].x);
    place.depth = box.parent < 0 ? 0 : places[parent].depth + 1;
    used[parent] += place.width;
  }
  return places;
}

std::string fitting(std::string_view text, double width) {
  const double room = (width - 6) / kLetterWidth;
  if (room < 3) return {};
  const auto columns = static_cast<size_t>(room);
  const std::string valid = valid_utf8(text);
  return display_width(valid) <= columns ? valid : ellipsize(valid, columns);
}

void append_box(std::string& out, const FlameBox& box, const Place& place) {
  Column column;
  column.kind = Kind::kTime;
  const double x = place.x * kWidth, width = place.width * kWidth;
  const double y = kTop + place.depth * kBoxHeight;
  const std::string name = html_escaped(box.text);
  const std::string detail = box.detail.empty() ? "" : "\n" + html_escaped(box.detail);
  out += fmt::format(
      "<g class=\"b\" data-x=\"{:.6f}\" data-w=\"{:.6f}\" data-y=\"{}\" data-n=\"{}\">"
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>"
      "<title>{}: {}, {:.2f} %{}</title><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
      place.x, place.width, place.depth, name, x, y, std::max(width - 0.5, 0.2), kBoxHeight - 1,
      kColours[box.colour % std::size(kColours)], name,
      html_escaped(text_of(Value(box.total_ns), column)), place.width * 100, detail, x + 3, y + 13,
      html_escaped(fitting(box.text, width)));
}

std::string head_of(const FlameGraph& graph) {
  std::string out = fmt::format("<text x=\"8\" y=\"18\" font-weight=\"bold\">{}</text>\n",
                                html_escaped(graph.title));
  double x = 8;
  for (size_t i = 0; i < graph.colours.size(); ++i) {
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"30\" width=\"12\" height=\"12\" fill=\"{}\" fill-opacity=\"0.55\"/>"
        "<text x=\"{:.1f}\" y=\"40\">{}</text>\n",
        x, kColours[i % std::size(kColours)], x + 17, html_escaped(graph.colours[i]));
    x += 17 + kLetterWidth * static_cast<double>(display_width(graph.colours[i])) + 20;
  }
  out += fmt::format(
      "<text class=\"found\" x=\"{0:.0f}\" y=\"40\" text-anchor=\"end\"></text>\n"
      "<text class=\"button search\" x=\"{0:.0f}\" y=\"18\" text-anchor=\"end\">Search</text>\n"
      "<text class=\"button back off\" x=\"{1:.0f}\" y=\"18\" text-anchor=\"end\">Show all</text>\n",
      kWidth - 8, kWidth - 70);
  return out;
}

}  // namespace

std::string flame_svg(const FlameGraph& graph) {
  std::string boxes;
  const std::vector<Place> places = places_of(graph);
  int deepest = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].width * kWidth < kLeastWidth || places[i].depth >= kMostDeep) continue;
    append_box(boxes, graph.boxes[i], places[i]);
    deepest = std::max(deepest, places[i].depth);
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" viewBox=\"0 0 {0:.0f} "
             "{1:.0f}\" width=\"{0:.0f}\" data-width=\"{0:.0f}\" data-letter=\"{2}\" role=\"img\" "
             "aria-label=\"{3}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n",
             kWidth, kTop + (deepest + 1) * kBoxHeight + 8, kLetterWidth,
             html_escaped(graph.title)) +
         kStyle + "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n" + head_of(graph) + boxes +
         kScript + "</svg>\n";
}

}  // namespace sonde::report
