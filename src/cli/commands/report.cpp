#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "analysis/page/page.h"
#include "base/free_name.h"
#include "base/private_file.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "report/layout.h"
#include "report/render.h"

namespace sonde::cli {
namespace {

constexpr size_t kRows = 15;
constexpr double kLeastPercentage = 5;

// Into a new file: what is there is never overwritten.
Result<int> write_page(const std::string& wanted, const std::string& text) {
  const std::string path = free_name(wanted);
  if (!create_private_file(path, O_WRONLY).valid()) {
    return errno_error("cannot write the report", path, errno);
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
  SONDE_ASSIGN(const auto choice, choice_of(arguments, analysis::page_needs()));
  SONDE_ASSIGN(const auto limit, whole_number(arguments, "limit"));
  trace::Request request = analysis::page_needs();
  choice.apply(request);
  SONDE_ASSIGN(trace::Trace trace, load_trace(arguments, request));
  const auto rows = static_cast<size_t>(limit.value_or(kRows));
  SONDE_ASSIGN(report::Report page, analysis::page_of(std::move(trace), rows, kLeastPercentage));
  if (arguments.flag("explain")) page.definition = analysis::page_definition();
  const std::string format = arguments.value_or("format", "html");
  const report::Renderer* renderer = report::find_renderer(format);
  report::RenderOptions options;
  options.full_names = arguments.flag("full-names");
  const auto output = arguments.value("output");
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
-o, --output FILE  the page to write; a name that is taken gets a number [report.html]
--format FORMAT=html|markdown|text  form of the page [html]
--as --from --to --window --kernel --gpu --rank
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
