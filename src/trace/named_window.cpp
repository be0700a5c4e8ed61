#include "trace/named_window.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "trace/steps.h"

namespace sonde::trace {
namespace {

constexpr const char* kOption = "--window";

Error wrong(const std::string& text) {
  return make_error(ErrorCode::kInvalidArgument, "'" + text + "' is not a window", kOption,
                    "like marker:REGEX, marker:REGEX#2, kernel:REGEX, step:3, step:3..5 or "
                    "launched:3");
}

// The number that a name ends in ("ProfilerStep#6", "period 2").
std::optional<int64_t> number_of(const std::string& name) {
  const size_t digits = name.find_last_not_of("0123456789");
  return parse_int(std::string_view(name).substr(digits == name.npos ? 0 : digits + 1));
}

// The number of each step: that of its name where all names have one, else its place among the
// steps of its process, from 1.
std::vector<int64_t> numbers_of(const std::vector<Step>& steps) {
  std::vector<int64_t> by_name, by_place;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (const auto number = number_of(steps[i].name)) by_name.push_back(*number);
    const bool is_first = i == 0 || steps[i].process != steps[i - 1].process;
    by_place.push_back(is_first ? 1 : by_place.back() + 1);
  }
  const bool all_same =
      std::adjacent_find(by_name.begin(), by_name.end(), std::not_equal_to<>()) == by_name.end();
  const bool tells = by_name.size() == steps.size() && (steps.size() == 1 || !all_same);
  return tells ? by_name : by_place;
}

// "ProfilerStep#6" is not the sixth: it is taken literally.
bool has_number(const std::string& name) {
  const size_t hash = name.rfind('#');
  return hash != name.npos && hash + 1 < name.size() && number_of(name.substr(hash + 1));
}

}  // namespace

Result<NamedWindow> NamedWindow::parse(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == text.npos || colon + 1 == text.size()) return wrong(text);
  const std::string kind = text.substr(0, colon);
  const std::string what = text.substr(colon + 1);
  NamedWindow window;
  window.text = text;
  if (kind == "step" || kind == "launched") {
    window.kind = Kind::kStep;
    window.launched = kind == "launched";
    const size_t dots = what.find("..");
    const auto first = parse_int(std::string_view(what).substr(0, dots));
    const auto last =
        dots == what.npos ? first : parse_int(std::string_view(what).substr(dots + 2));
    if (!first || !last || *first < 0 || *last < *first) return wrong(text);
    window.first = *first;
    window.last = *last;
    return window;
  }
  if (kind != "marker" && kind != "kernel") return wrong(text);
  window.kind = kind == "marker" ? Kind::kMarker : Kind::kKernel;
  SONDE_ASSIGN(window.names, NameFilter::compile(what, kOption));
  const size_t hash = what.rfind('#');
  const auto number =
      hash == what.npos ? std::nullopt : parse_int(std::string_view(what).substr(hash + 1));
  if (window.kind != Kind::kMarker || !number || *number < 1 || hash == 0) return window;
  if (auto counted = NameFilter::compile(what.substr(0, hash), kOption)) {
    window.counted = std::move(*counted);
    window.number = *number;
  }
  return window;
}

Request NamedWindow::request() const {
  Request request;
  request.ops = kind != Kind::kMarker;
  request.links = kind == Kind::kStep;
  request.nesting = request.apis = kind != Kind::kKernel;
  return request;
}

Error NamedWindow::nothing(const std::string& there) const {
  return make_error(ErrorCode::kNotFound, "nothing in the trace matches '" + text + "'", kOption,
                    there);
}

Result<Interval> NamedWindow::find_steps_in(const Trace& trace) const {
  SONDE_ASSIGN(const Steps found, find_steps(trace, ""));
  const std::vector<int64_t> numbers = numbers_of(found.steps);
  const auto is_wanted = [&](size_t step) {
    return numbers[step] >= first && numbers[step] <= last;
  };
  std::optional<Interval> cover;
  for (size_t i = 0; i < numbers.size() && !launched; ++i) {
    if (is_wanted(i)) extend(cover, found.steps[i].time);
  }
  if (launched) {
    const std::vector<Row> step_of = step_of_ops(trace, found);
    for (size_t i = 0; i < step_of.size(); ++i) {
      if (step_of[i] == kNone || !is_wanted(static_cast<size_t>(step_of[i]))) continue;
      extend(cover, {trace.ops.start_ns[i], trace.ops.end_ns[i]});
    }
  }
  if (cover) return *cover;
  if (numbers.empty()) return nothing("there are no steps");
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return nothing(fmt::format("there are steps {} to {}, by {}", *least, *most, found.source));
}

Result<Interval> NamedWindow::find(const Trace& trace) const {
  if (kind == Kind::kStep) return find_steps_in(trace);
  std::optional<Interval> cover;
  std::vector<int8_t> wanted(trace.names.size(), -1);
  const auto fits = [&](NameId name) {
    if (wanted[name] < 0) wanted[name] = names.wants(trace.names[name]) ? 1 : 0;
    return wanted[name] == 1;
  };
  const auto is_marker = [&](size_t i) { return trace.apis.kind[i] == ApiKind::kMarker; };
  for (size_t i = 0; kind == Kind::kKernel && i < trace.ops.size(); ++i) {
    if (trace.class_of(i) != OpClass::kKernel || !fits(trace.label(i))) continue;
    extend(cover, {trace.ops.start_ns[i], trace.ops.end_ns[i]});
  }
  for (size_t i = 0; kind == Kind::kMarker && i < trace.apis.size(); ++i) {
    if (is_marker(i) && fits(trace.apis.label[i])) {
      extend(cover, {trace.apis.start_ns[i], trace.apis.end_ns[i]});
    }
  }
  int64_t count = 0;
  for (size_t i = 0; number != 0 && !cover && i < trace.apis.size(); ++i) {
    const std::string& name = trace.names[trace.apis.label[i]];
    if (!is_marker(i) || has_number(name) || !counted.wants(name)) continue;
    if (++count == number) extend(cover, {trace.apis.start_ns[i], trace.apis.end_ns[i]});
  }
  if (cover) return *cover;
  if (kind == Kind::kKernel) return nothing("sonde ktop lists the kernels");
  return nothing(count == 0 ? "sonde api lists the markers"
                            : fmt::format("there are {} without the number", count));
}

}  // namespace sonde::trace
