#include "trace/window.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "trace/named_window.h"

namespace sonde::trace {

const char* const kWindowDefinition =
    "--from and --to choose a window [from, to) relative to the start of the trace, which is the "
    "first start of an operation or API call. An event is in the window if it overlaps it or, if "
    "it has no length, lies in it. Only the part of its time inside the window counts, so the "
    "totals of adjacent windows add up to the total of the trace.\n\n"
    "In several files of one question (check, collectives, ranks) they choose the same moments, "
    "relative to the first start in any of the files, and percentages are of the time from there "
    "to the last end. Where the files do not say at what time of day they were recorded, or have "
    "no moment in common, they are relative to the start of each file, and a warning says so.\n\n"
    "--window marker:REGEX is the window from the first start to the last end of the markers "
    "whose name matches, marker:REGEX#K is the window of only the K-th of them, from 1 (a name "
    "that itself ends in a number, like ProfilerStep#6, is taken literally), and kernel:REGEX is "
    "the same for kernels. step:N and step:N..M are steps, as sonde breakdown --per step finds "
    "them: ProfilerStep#N, else the markers of inference servers, else repeating sequences of "
    "kernels; N is the number in their names, or their place from 1 if they have none. GPU work "
    "can run after the call that launched it, and so after the window of a marker or step; "
    "launched:N and launched:N..M are from the first start to the last end of the operations that "
    "were launched in these steps. --from and --to then count from the start and the end of that "
    "window.\n";

namespace {

constexpr int64_t kSecond = 1'000'000'000;

struct Offset {
  bool from_end = false;
  std::optional<double> percent;
  int64_t ns = 0;
};

Result<Offset> parse_offset(const char* option, std::string_view text) {
  const auto wrong = [&] {
    return make_error(ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is not a time",
                      option,
                      "like 1.5s, 200ms, 10us, 250ns, 20% or a number of seconds; -1s is a second "
                      "before the end");
  };
  Offset offset;
  std::string_view rest = text;
  if (!rest.empty() && rest.front() == '-') {
    offset.from_end = true;
    rest.remove_prefix(1);
  }
  if (rest.empty() || rest.front() == '-' || rest.front() == '+') return wrong();
  if (rest.back() == '%') {
    // A percentage is parsed as a duration in units of 1e-6 %, which gives it decimals.
    rest.remove_suffix(1);
    const bool number = rest.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
    const auto millionths = number ? parse_duration_ns(rest, 1'000'000) : std::nullopt;
    if (!millionths || *millionths > 100'000'000) return wrong();
    offset.percent = static_cast<double>(*millionths) / 1e6;
    return offset;
  }
  const auto ns = parse_duration_ns(rest, kSecond);
  if (!ns) return wrong();
  offset.ns = *ns;
  return offset;
}

// The absolute time of an offset, saturated to the span.
int64_t time_of(const Offset& offset, Interval span) {
  const int64_t length = span.end_ns - span.start_ns;
  int64_t distance = std::min(offset.ns, length);
  if (offset.percent) {
    distance = std::llround(static_cast<double>(length) * *offset.percent / 100.0);
  }
  distance = std::clamp<int64_t>(distance, 0, length);
  return offset.from_end ? span.end_ns - distance : span.start_ns + distance;
}

}  // namespace

Status check_window(const WindowText& text) {
  if (text.from) SONDE_TRY(parse_offset("--from", *text.from));
  if (text.to) SONDE_TRY(parse_offset("--to", *text.to));
  if (text.named) SONDE_TRY(NamedWindow::parse(*text.named));
  return ok_status();
}

Result<Window> resolve_window(const WindowText& text, Interval span,
                              std::optional<Interval> named) {
  Window window;
  if (!text.given()) return window;
  const Interval part = named.value_or(span);
  Interval extent = part;
  if (text.from) {
    SONDE_ASSIGN(const Offset from, parse_offset("--from", *text.from));
    extent.start_ns = time_of(from, part);
  }
  if (text.to) {
    SONDE_ASSIGN(const Offset to, parse_offset("--to", *text.to));
    extent.end_ns = time_of(to, part);
  }
  if (extent.end_ns < extent.start_ns) {
    return make_error(ErrorCode::kInvalidArgument, "the window ends before it begins",
                      "--from/--to");
  }
  window.extent = extent;
  // An edge at the trace's own edge excludes nothing, not even an event of no length at its end.
  if (extent.start_ns > span.start_ns) window.select.start_ns = extent.start_ns;
  if (extent.end_ns < span.end_ns) window.select.end_ns = extent.end_ns;
  return window;
}

Result<Window> window_of(store::Reader& reader, const WindowText& text) {
  SONDE_TRY(check_window(text));
  if (!text.given()) return Window{};
  SONDE_ASSIGN(const auto span, span_of(reader));
  if (!span) return Window{};
  if (!text.named) return resolve_window(text, *span);
  SONDE_ASSIGN(const Interval part, named_part_of(reader, *text.named));
  return resolve_window(text, *span, part);
}

Result<Interval> named_part_of(store::Reader& reader, const std::string& text) {
  SONDE_ASSIGN(const NamedWindow named, NamedWindow::parse(text));
  SONDE_ASSIGN(const Trace trace, load(reader, named.request()));
  return named.find(trace);
}

Window window_in(Interval extent, int64_t shift_ns, Interval span) {
  extent.start_ns -= shift_ns;
  extent.end_ns -= shift_ns;
  Window window;
  if (extent.start_ns > span.start_ns) window.select.start_ns = extent.start_ns;
  if (extent.end_ns < span.end_ns) window.select.end_ns = extent.end_ns;
  window.extent = {std::clamp(extent.start_ns, span.start_ns, span.end_ns),
                   std::clamp(extent.end_ns, span.start_ns, span.end_ns)};
  return window;
}

}  // namespace sonde::trace
