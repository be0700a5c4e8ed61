#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "analysis/operations/stats.h"
#include "analysis/totals.h"
#include "base/new_file.h"
#include "base/private_file.h"
#include "cli/common.h"
#include "trace/window.h"

namespace sonde::cli {
namespace {

using namespace report::columns;

Status write_file(const std::string& path, const std::string& text, bool overwrite) {
  UniqueFd fd = create_private_file(path, O_WRONLY);
  // A file that is overwritten keeps its mode.
  if (!fd.valid() && errno == EEXIST && overwrite) {
    fd = UniqueFd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  }
  if (!fd.valid()) {
    if (errno == EEXIST) {
      return make_error(ErrorCode::kIo, "already exists", path,
                        "--force overwrites it, -o chooses another name");
    }
    return not_created("file", path, errno);
  }
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(fd.get(), text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_error("cannot write", path, errno);
    done += static_cast<size_t>(written);
  }
  return ok_status();
}

// Before anything is written: a set of files is overwritten as a whole or not at all.
Status check_free(const std::string& prefix, const std::vector<analysis::StatsFile>& files) {
  for (const auto& file : files) {
    const std::string path = prefix + file.suffix;
    if (::access(path.c_str(), F_OK) == 0) {
      return make_error(ErrorCode::kIo, "already exists", path,
                        "--force overwrites it, -o chooses another name");
    }
  }
  return ok_status();
}

report::Report report_of(const trace::Trace& trace, const std::string& prefix,
                         const std::vector<analysis::StatsFile>& files) {
  report::Report report = analysis::begin_report("stats", trace);
  report.definition = analysis::kStatsDefinition;
  report::Section section{
      .key = "stats",
      .empty_text = "The trace has neither operations nor API calls; no file written."};
  section.table.add_columns(
      {text("file", "File"), text("contents", "Contents"), integer("names", "Names")});
  for (const auto& file : files) {
    section.table.add_row({prefix + file.suffix, file.contents, static_cast<int64_t>(file.rows)});
  }
  report.sections.push_back(std::move(section));
  return report;
}

Result<int> run(const Arguments& arguments) {
  const trace::WindowText window = window_text(arguments);
  SONDE_TRY(trace::check_window(window));
  trace::Request request;
  request.ops = true;
  request.apis = request.nesting = true;
  SONDE_ASSIGN(const trace::Trace trace, load_trace(arguments, request));
  const auto files = analysis::stats_files(trace);
  const std::string prefix = arguments.value_or("output", "results");
  const bool overwrite = arguments.flag("force");
  if (!overwrite) SONDE_TRY(check_free(prefix, files));
  for (const auto& file : files) {
    SONDE_TRY(write_file(prefix + file.suffix, file.text, overwrite));
  }
  return print_report(arguments, report_of(trace, prefix, files));
}

constexpr const char* kText = R"(
stats - Write the CSV files of rocprof --stats

Writes results.stats.csv, results.copy_stats.csv and one file for each API in the trace
(results.hip_stats.csv, results.opencl_stats.csv ...), for tools that read rocprof's output, and
lists them.

Arguments:
FILE

Options:
--as
-o, --output PREFIX  the prefix of the file names [results]
--force  overwrite existing files
--from --to --window
--format --limit --sort --full-names --exact --table --explain

Examples:
sonde stats trace.rpd  results.*_stats.csv in this folder
sonde stats -o out/run1 trace.rpd  out/run1.stats.csv and so on
)";

}  // namespace

Command stats_command() { return make_command(kText, run, analysis::kStatsDefinition); }

}  // namespace sonde::cli
