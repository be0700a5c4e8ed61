#include <fmt/format.h>
#include <sys/stat.h>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "export/exporter.h"
#include "export/output_name.h"
#include "store/reader.h"
#include "trace/window.h"

namespace sonde::cli {

namespace {

std::string summary_line(const exporting::Output& output, const exporting::Counts& counts) {
  struct stat status {};
  ::stat(output.path.c_str(), &status);
  std::string line = fmt::format(
      "{}: {} operations, {} API calls and markers, {} launch arrows, {} counter values, {}",
      output.path, format_count(counts.ops), format_count(counts.apis), format_count(counts.flows),
      format_count(counts.counters), format_size(static_cast<uint64_t>(status.st_size)));
  if (counts.skipped > 0) {
    line += fmt::format("; {} skipped that have no time, end before they start, or are no numbers",
                        format_count(counts.skipped));
  }
  return line;
}

Result<int> run(const Arguments& arguments) {
  const std::string& input = arguments.positionals().at(0);
  SONDE_ASSIGN(store::Reader reader, open_trace(arguments));
  exporting::Options options;
  options.arguments = !arguments.flag("no-args");
  SONDE_ASSIGN(const trace::Window window,
               trace::window_of(reader, {arguments.value("from"), arguments.value("to")}));
  options.from_ns = window.select.start_ns;
  options.to_ns = window.select.end_ns;
  SONDE_ASSIGN(
      const exporting::Output output,
      exporting::choose_output(input, arguments.value("format"), arguments.value("output")));
  if (output.path != output.wanted) {
    fmt::print(stderr, "sonde: {} exists; writing {}\n", output.wanted, output.path);
  }
  SONDE_ASSIGN(const exporting::Counts counts,
               output.exporter->write(reader, output.path, options));
  fmt::print("{}\n", summary_line(output, counts));
  return 0;
}

}  // namespace

const Command& export_command() {
  static const Command kCommand{
      "export",
      "Export",
      "Write a trace for Perfetto, chrome://tracing or tools that read PyTorch traces",
      "Writes the whole trace, or a part of it, in the format of another viewer. The format is "
      "what --format says, or what the name of the output ends in: .pftrace (perfetto), .json or "
      ".json.gz (chrome).\n\n"
      "Every operation and every API call is written once, with its exact start and duration in "
      "nanoseconds. Slices that overlap on one thread or queue are put on lanes side by side. What "
      "a format cannot say is skipped, counted and shown in the summary.\n\n"
      "An existing file is never overwritten: the next free name is taken.",
      {trace_file()},
      joined({as_option(),
              {"-o,--output", "FILE", "where to write; by default beside FILE, under its name", ""},
              {"--format", "NAME", "format of the output", "perfetto", {"chrome", "perfetto"}},
              {"--no-args", "", "leave out the arguments of API calls", ""}},
             window_options()),
      {{"sonde export trace.rpd", "writes trace.pftrace; open it on https://ui.perfetto.dev"},
       {"sonde export trace.rpd -o part.json.gz --from 20% --to 30%",
        "a tenth of the trace as compressed Chrome JSON"}},
      false,
      run};
  return kCommand;
}

}  // namespace sonde::cli
