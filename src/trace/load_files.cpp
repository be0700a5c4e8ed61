// Several files of one question. Processes of a job do not begin to record at the same time, so
// that "100 ms after the start of the file" is another moment in each.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/strings.h"
#include "importers/import.h"
#include "trace/other_tools.h"

namespace sonde::trace {
namespace {

// The times of all files on one clock, or why there are none.
struct TimeLine {
  Interval span;                  // from the first start to the last end
  std::vector<int64_t> shift_ns;  // by file: to be added to its times
  std::string why_not;            // "" = there is one
};

std::optional<Interval> shifted(Interval span, int64_t by_ns) {
  Interval moved;
  if (__builtin_add_overflow(span.start_ns, by_ns, &moved.start_ns)) return {};
  if (__builtin_add_overflow(span.end_ns, by_ns, &moved.end_ns)) return {};
  return moved;
}

bool meets(Interval window, int64_t shift_ns, Interval span) {
  return window.start_ns - shift_ns <= span.end_ns && window.end_ns - shift_ns >= span.start_ns;
}

std::string no_moment_text(const std::string& before, const std::string& after, int64_t apart_ns) {
  return fmt::format("{} begins {} after the end of {}", after, format_duration(apart_ns), before);
}

// A file without events takes no part. Clocks of which one is wrong, and recordings of another day,
// have no moment in common.
TimeLine time_line_of(std::span<const OpenedFile> files, std::span<const std::string> paths,
                      std::vector<importers::Clock> clocks) {
  const auto shifts = importers::shifts_to_one_clock(std::move(clocks));
  TimeLine line{{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}, {}, {}};
  line.shift_ns.resize(files.size(), 0);
  Interval shared = {line.span.end_ns, line.span.start_ns};  // by all
  size_t last_to_begin = 0, first_to_end = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].span()) continue;
    const auto span = shifts[i] ? shifted(*files[i].span(), *shifts[i]) : std::nullopt;
    if (!span) {
      line.why_not = "at what time of day " + paths[i] + " was recorded is not known";
      return line;
    }
    line.shift_ns[i] = *shifts[i];
    line.span.start_ns = std::min(line.span.start_ns, span->start_ns);
    line.span.end_ns = std::max(line.span.end_ns, span->end_ns);
    if (span->start_ns > shared.start_ns) last_to_begin = i;
    if (span->end_ns < shared.end_ns) first_to_end = i;
    shared = {std::max(shared.start_ns, span->start_ns), std::min(shared.end_ns, span->end_ns)};
  }
  if (shared.start_ns >= shared.end_ns && line.span.start_ns <= line.span.end_ns) {
    line.why_not =
        no_moment_text(paths[first_to_end], paths[last_to_begin], shared.start_ns - shared.end_ns);
  }
  return line;
}

Result<std::vector<Trace>> load_each(std::span<OpenedFile> files, const WindowText& text) {
  std::vector<Trace> traces;
  for (OpenedFile& file : files) {
    SONDE_ASSIGN(const Window window, file.window(text));
    SONDE_ASSIGN(Trace trace, file.load(window));
    traces.push_back(std::move(trace));
  }
  return traces;
}

Result<std::vector<Trace>> load_on(const TimeLine& line, std::span<OpenedFile> files,
                                   std::span<const std::string> paths, const WindowText& text) {
  std::vector<Trace> traces;
  SONDE_ASSIGN(const Window common, resolve_window(text, line.span));
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& span = files[i].span();
    Window window;
    if (span) window = window_in(*common.extent, line.shift_ns[i], *span);
    SONDE_ASSIGN(Trace trace, files[i].load(window));
    if (span && !meets(*common.extent, line.shift_ns[i], *span)) {
      trace.warnings.push_back(paths[i] + " was not recorded at the time of the window");
    }
    traces.push_back(std::move(trace));
  }
  return traces;
}

}  // namespace

Result<std::vector<Trace>> load_files(std::span<const std::string> paths, const std::string& as,
                                      const Request& request, const WindowText& window) {
  const bool is_relative = paths.size() > 1 && (window.from || window.to) && !window.named;
  std::vector<Trace> traces;
  for (const std::string& path : paths) {
    if (is_relative) break;
    SONDE_ASSIGN(Trace trace, load_file(path, as, request, window));
    traces.push_back(std::move(trace));
  }
  if (!is_relative) return traces;
  std::vector<OpenedFile> files;
  std::vector<importers::Clock> clocks;
  for (const std::string& path : paths) {
    SONDE_ASSIGN(importers::Found found, importers::find_importer(path, as));
    SONDE_ASSIGN(importers::Clock clock, importers::clock_of(found, path));
    SONDE_ASSIGN(OpenedFile file, OpenedFile::open(std::move(found), path, request, window));
    clocks.push_back(std::move(clock));
    files.push_back(std::move(file));
  }
  const TimeLine line = time_line_of(files, paths, std::move(clocks));
  const bool has_events = line.span.start_ns <= line.span.end_ns;
  if (line.why_not.empty() && has_events) return load_on(line, files, paths, window);
  SONDE_ASSIGN(traces, load_each(files, window));
  if (line.why_not.empty()) return traces;
  traces.front().warnings.push_back(
      "--from and --to count from the start of each file, so the files are looked at at different "
      "times: " +
      line.why_not);
  return traces;
}

}  // namespace sonde::trace
