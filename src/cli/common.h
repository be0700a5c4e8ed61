// What the commands that answer questions share: their options, declared once, and the way from an
// .rpd file to a printed report.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "base/result.h"
#include "cli/command.h"
#include "report/report.h"
#include "store/reader.h"
#include "trace/trace.h"
#include "trace/window.h"

namespace sonde::cli {

// A command as cli/command_text.h says how to write it. Options that several commands take (those
// of kShared, and `more`) and FILE, a trace, need only be named.
using Run = std::function<Result<int>(const Arguments&)>;
Command make_command(std::string_view text, Run run, std::string definition = {},
                     const std::vector<Option>& more = {});
std::vector<Option> shared_options(std::string_view names);
trace::WindowText window_text(const Arguments& arguments);
template <typename... More>
std::vector<Option> joined(std::vector<Option> first, const More&... more) {
  (first.insert(first.end(), more.begin(), more.end()), ...);
  return first;
}

// The value of --NAME, which must be a whole number if it is given.
Result<std::optional<int64_t>> whole_number(const Arguments& arguments, const char* name);

// Opens FILE for SQL, whatever kind of trace it is.
Result<store::Reader> open_trace(const Arguments& arguments);
// The columns of FILE that a request wants, in the window that the options name.
Result<trace::Trace> load_trace(const Arguments& arguments, const trace::Request& request);
// The same of every file that is named, which together are one question: none may be named twice,
// and the window is the same moments of all (trace::load_files).
Result<std::vector<trace::Trace>> load_traces(const Arguments& arguments,
                                              const trace::Request& request);

// Sorts the first table and cuts all as the options say, renders the report and writes it to
// stdout, its definition only where --explain asks for it. Warnings that the format cannot show go
// to stderr. Without --limit a format for people shows `rows_for_people` rows (0: all), and the
// others show all.
Result<int> print_report(const Arguments& arguments, report::Report report,
                         size_t rows_for_people = 25);

// What the options of a command that runs analyses chose. The filters are used by the request for
// as long as the choice lives.
struct Choice {
  trace::NameFilter names;
  std::optional<int64_t> gpu, rank;
  void apply(trace::Request& request) const;
};
// --kernel, or --name where there are no operations, unless the answer is about all of them; --gpu
// where something is of one; --rank.
std::vector<Option> choice_options(const trace::Request& needs);
Result<Choice> choice_of(const Arguments& arguments, const trace::Request& needs);

// A command that runs one analysis on one file.
Command analysis_command(analysis::Analysis analysis);

// A command that asks several traces together.
struct JointAnalysis {
  const char* text;  // of cli/command_text.h, without options
  const char* definition;
  trace::Request (*needs)();
  report::Report (*report_of)(std::span<const trace::Trace> traces);
  bool compares_runs = false;  // each file has its own window, and may be compared with itself
};
Command joint_command(const JointAnalysis& analysis);

// --explain without a file: prints what the figures mean.
Result<int> print_definition(const std::string& definition);

}  // namespace sonde::cli
