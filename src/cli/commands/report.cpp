#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "analysis/page/page.h"
#include "base/free_name.h"
#include "base/new_file.h"
#include "base/private_file.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "report/layout.h"
#include "report/render.h"

namespace sonde::cli {
namespace {

constexpr size_t kRows = 15;
constexpr double kLeastPercentage = 5;

// The extension of the page's name says its form.
Result<std::string> format_of(const std::optional<std::string>& output) {
  if (!output || is_stream(*output)) return std::string("html");
  const std::string end = std::filesystem::path(*output).extension();
  constexpr std::pair<std::string_view, const char*> kForms[] = {
      {"", "html"}, {".html", "html"}, {".htm", "html"}, {".md", "markdown"}, {".txt", "text"}};
  for (const auto& [known, form] : kForms) {
    if (end == known) return std::string(form);
  }
  return make_error(
      ErrorCode::kInvalidArgument, "the name does not say which form", *output,
      "end it in .html, .md or .txt, or give --format; a browser prints a page as PDF");
}

// Into a new file: nothing is overwritten, except a pipe or a device.
Result<int> write_page(const std::string& wanted, const std::string& text) {
  if (wanted == "-") {
    SONDE_TRY(write_stdout(text));
    return 0;
  }
  const std::string path = is_stream(wanted) ? wanted : free_name(wanted);
  if (!is_stream(wanted) && !create_private_file(path, O_WRONLY).valid()) {
    return not_created("report", path, errno);
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return make_error(ErrorCode::kIo, "cannot write the report", path);
  if (path != wanted) print_error_line(fmt::format("{} exists; writing {}", wanted, path));
  print_error_line(fmt::format("{}: {:.0f} KB, opens in any browser", path,
                               static_cast<double>(text.size()) / 1000));
  return 0;
}

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals().empty()) return print_definition(analysis::page_definition());
  const auto output = arguments.value("output");
  SONDE_ASSIGN(const std::string format_by_name,
               format_of(arguments.value("format") ? std::nullopt : output));
  const std::string format = arguments.value_or("format", format_by_name);
  SONDE_ASSIGN(const auto choice, choice_of(arguments, analysis::page_needs()));
  SONDE_ASSIGN(const auto limit, whole_number(arguments, "limit"));
  trace::Request request = analysis::page_needs();
  choice.apply(request);
  SONDE_ASSIGN(trace::Trace trace, load_trace(arguments, request));
  const auto rows = static_cast<size_t>(limit.value_or(kRows));
  SONDE_ASSIGN(report::Report page, analysis::page_of(std::move(trace), rows, kLeastPercentage));
  if (arguments.flag("explain")) page.definition = analysis::page_definition();
  const report::Renderer* renderer = report::find_renderer(format);
  report::RenderOptions options;
  options.full_names = arguments.flag("full-names");
  if (output || format == "html") {
    return write_page(output.value_or("report.html"), renderer->render(page, options));
  }
  options.width = report::terminal_width(STDOUT_FILENO);
  options.colour = report::wants_colour(STDOUT_FILENO);
  SONDE_TRY(write_stdout(renderer->render(page, options)));
  return 0;
}

constexpr const char* kText = R"(
report - Write a one-page report on a trace

The page shows, from the top down: what ran, what stands out with evidence and what to try (sonde
check), charts of where the GPU time went, and the tables of breakdown, idle, kernels, operators,
copies, launches and memory. A trace with hardware counters has Speed-of-Light, memory chart and
roofline (sonde sol, sonde roofline). For a trace without GPU operations it shows the Python
functions and lines that took the CPU time (sonde record --sample), marked ranges and operators. It
is one file that needs no network and suits light and dark displays.

Text and markdown are printed, without charts; with -o they go to a file.

Arguments:
FILE

Options:
-o, --output FILE  the page to write; a name that is taken gets a number; - is standard output
    [report.html]
--format FORMAT=html|markdown|text  form of the page [as FILE ends: .html, .md or .txt]
--as --from --to --window --gpu --rank
--limit  [15 rows of each table]
--full-names  show names whole
--explain

Examples:
sonde report trace.rpd  write report.html
sonde report trace.json.gz --from 20% --format markdown  for an issue or a wiki, without the warm-up
)";

}  // namespace

Command report_command() { return make_command(kText, run); }

}  // namespace sonde::cli
