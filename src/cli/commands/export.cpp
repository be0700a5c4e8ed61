#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "analysis/analysis.h"
#include "analysis/critical_path/graph.h"
#include "base/new_file.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "export/exporter.h"
#include "export/output/output_name.h"
#include "export/output/split.h"
#include "metrics/gpu_facts.h"
#include "store/reader.h"
#include "trace/window.h"

namespace sonde::cli {

namespace {

// The size of a file, or of all files in a folder.
uint64_t bytes_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::filesystem::file_size(path, error);
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(path, error)) {
    if (file.is_regular_file(error)) bytes += file.file_size(error);
  }
  return bytes;
}

std::string summary_line(const std::string& path, const exporting::Counts& counts) {
  std::string line = fmt::format(
      "{}: {} operations, {} API calls and markers, {} launch arrows, {} counter values", path,
      format_count(counts.ops), format_count(counts.apis), format_count(counts.flows),
      format_count(counts.counters));
  if (!is_stream(path)) line += ", " + format_size(bytes_of(path));
  if (counts.samples > 0) {
    line += fmt::format("; {} sampled call stacks", format_count(counts.samples));
  }
  if (counts.skipped > 0) {
    line +=
        fmt::format("; {} skipped: without time, ending before they start, or not in this format",
                    format_count(counts.skipped));
  }
  return line;
}

// --split-size, or nothing. The formats that are folders cannot be split.
Result<std::optional<uint64_t>> split_size(const Arguments& arguments) {
  const auto text = arguments.value("split-size");
  if (!text) return std::optional<uint64_t>();
  const auto bytes = parse_size(*text);
  if (!bytes || *bytes == 0) {
    return make_error(ErrorCode::kInvalidArgument, "'" + *text + "' is not a size", "--split-size",
                      "such as 200M");
  }
  return bytes;
}

// The critical path of what is exported, as slices and arrows.
Result<exporting::Overlay> critical_path(const Arguments& arguments) {
  trace::Request request = analysis::needs_of("critical-path");
  SONDE_ASSIGN(request.gpu, whole_number(arguments, "gpu"));
  SONDE_ASSIGN(request.rank, whole_number(arguments, "rank"));
  SONDE_ASSIGN(const trace::Trace trace, load_trace(arguments, request));
  exporting::Overlay overlay;
  overlay.title = "Critical path";
  std::map<std::string, uint32_t> lanes;
  for (const analysis::Step& step : analysis::critical_path_steps(trace)) {
    const auto lane = static_cast<uint32_t>(overlay.lanes.size());
    const auto [entry, is_new] = lanes.try_emplace(step.place, lane);
    if (is_new) overlay.lanes.push_back(step.place);
    exporting::OverlaySlice slice{step.start_ns, step.end_ns, entry->second, step.name, {}};
    slice.facts = {{"edge", analysis::edge_kind_name(step.kind)},
                   {"bound by", analysis::bound_by_name(step.bound)},
                   {"counts", format_duration(step.weight_ns)}};
    if (step.weight_ns == 0) slice.name = "(unexplained) " + slice.name;
    overlay.slices.push_back(std::move(slice));
  }
  return overlay;
}

// Under rocprof-compute's names.
Result<exporting::Facts> gpu_facts(std::string_view device) {
  SONDE_ASSIGN(const metrics::GpuFacts gpu, metrics::gpu_facts_of(device));
  exporting::Facts facts = {{"gpu_model", gpu.model}, {"gpu_arch", gpu.arch}};
  for (const auto& [name, value] : gpu.facts) facts.emplace_back(name, fmt::format("{}", value));
  return facts;
}

Result<int> run(const Arguments& arguments) {
  const std::string& input = arguments.positionals().at(0);
  SONDE_ASSIGN(store::Reader reader, open_trace(arguments));
  exporting::Options options;
  options.arguments = !arguments.flag("no-args");
  options.track_events = arguments.flag("track-events");
  options.array = arguments.flag("array");
  options.gpu_facts = [model = arguments.value_or("gpu-model", "")](std::string_view device) {
    return gpu_facts(model.empty() ? device : std::string_view(model));
  };
  SONDE_ASSIGN(options.gpu, whole_number(arguments, "gpu"));
  SONDE_ASSIGN(options.rank, whole_number(arguments, "rank"));
  SONDE_ASSIGN(const trace::Window window, trace::window_of(reader, window_text(arguments)));
  options.from_ns = window.select.start_ns;
  options.to_ns = window.select.end_ns;
  SONDE_ASSIGN(const auto most_bytes, split_size(arguments));
  SONDE_ASSIGN(
      const exporting::Output output,
      exporting::choose_output(input, arguments.value("format"), arguments.value("output")));
  if (most_bytes && (output.exporter->is_folder || output.is_stream)) {
    return make_error(ErrorCode::kInvalidArgument,
                      output.is_stream ? "a stream cannot be split" : "a folder cannot be split",
                      "--split-size", "choose a format that is one file, and its name");
  }
  if (output.path != output.wanted) {
    print_error_line(output.wanted + " exists; writing " + output.path);
  }
  if (arguments.flag("critical-path")) {
    const std::string& format = output.exporter->name;
    if (most_bytes || (format != "chrome" && format != "perfetto")) {
      return make_error(ErrorCode::kInvalidArgument, "this format cannot show the critical path",
                        "--critical-path", "choose chrome or perfetto, in one file");
    }
    SONDE_ASSIGN(options.overlay, critical_path(arguments));
  }
  if (!most_bytes) {
    SONDE_ASSIGN(const exporting::Counts counts,
                 output.exporter->write(reader, output.path, options));
    if (output.is_stream) {  // standard output may be the stream
      print_error_line(summary_line(output.path, counts));
    } else {
      SONDE_TRY(write_stdout(summary_line(output.path, counts) + "\n"));
    }
    return 0;
  }
  SONDE_ASSIGN(const auto parts,
               exporting::write_split(*output.exporter, reader, output.path, options, *most_bytes));
  for (const exporting::Part& part : parts) {
    SONDE_TRY(write_stdout(summary_line(part.path, part.counts) + "\n"));
  }
  return 0;
}

// A line for each format: its name, what its outputs' names end in, and what it is.
std::string format_lines() {
  std::string lines;
  for (const exporting::Exporter& exporter : exporting::all_exporters()) {
    lines += fmt::format("- {} ({}): {}\n", exporter.name, fmt::join(exporter.extensions, ", "),
                         exporter.summary);
  }
  return lines;
}

constexpr const char* kText = R"(
export - Write a trace for Perfetto, chrome://tracing and many other tools

Writes the whole trace, or a part of it, in the format of another tool. --format chooses the format;
without it, the extension of the output's name does:

{formats}
Every operation and every API call is written once, with its exact start and duration in
nanoseconds. Slices that overlap on one thread or queue go to separate lanes. Profiles add up the
same times by call path. What a format cannot express is skipped, counted and shown in the summary.

An existing file or folder is never overwritten: the next free name is taken. -o - writes to standard
output, for a pipe, with --format.

Arguments:
FILE

Options:
--as
-o, --output FILE  where to write [beside FILE, under its name]
--format NAME={names}  format of the output [perfetto]
--no-args  leave out the arguments of API calls
--track-events  perfetto: for viewers older than v55, without render stages
--array  chrome: only the array of events, for old readers
--critical-path  chrome, perfetto: with the critical path (sonde critical-path)
--split-size BYTES  several files of at most this size, by time [one file]
--gpu N  operations of this GPU only; calls are all written [all]
--gpu-model NAME  rocprof-compute: the GPU of a trace that does not name it: MI210 [as the trace
    says]
--rank N  processes of this rank only, and their operations [all]
--from --to --window

Examples:
sonde export trace.rpd  writes trace.pftrace; open it on https://ui.perfetto.dev
sonde export trace.rpd -o part.json.gz --from 20% --to 30%
    a tenth of the trace as compressed Chrome JSON
sonde export trace.rpd --critical-path  with the chain that determined how long it took
sonde export trace.rpd --format folded --rank 0  CPU time of rank 0 for a flame graph
sonde export trace.rpd --format folded -o - | flamegraph.pl > cpu.svg  the same in a pipe
)";

}  // namespace

Command export_command() {
  return make_command(fmt::format(kText, fmt::arg("formats", format_lines()),
                                  fmt::arg("names", fmt::join(exporting::exporter_names(), "|"))),
                      run);
}

}  // namespace sonde::cli
