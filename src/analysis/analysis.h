// Analyses: pure functions from a Trace to a Report, one file each, with the definition of every
// figure beside the code that computes it. A new analysis is a file in analysis/ that defines
// `Analysis NAME_analysis()` at the beginning of a line; the build finds it, and the command
// `sonde NAME`, its help, man page, page and --explain, and its part of analyses.md are
// made from the value.
//
// An analysis fills the table of its first section completely and in its natural order; sorting by
// another column and cutting it to --limit rows is done by the command for all alike
// (report/sort.h). What a trace does not have is said (Section::empty_text, Report::notes), never
// printed as zero.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

// What every analysis speaks of.
using report::Kind;
using report::Value;
using trace::kNone;
using trace::Row;

struct Option {
  std::string name;   // "by": --by
  std::string value;  // "WHAT", or "" for a flag
  std::string help;
  std::string fallback;
  std::vector<std::string> choices = {};
};

// The values of an analysis' own options; those that were not given have their fallbacks.
class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(const std::vector<Option>& options);
  void set(const std::string& option, std::string value) { values_[option] = std::move(value); }

  const std::string& text(const std::string& option) const;  // "" if there is no such option
  bool flag(const std::string& option) const { return !text(option).empty(); }
  Result<int64_t> duration_ns(const std::string& option) const;  // "30us"
  Result<int64_t> count(const std::string& option) const;        // a whole number

 private:
  std::map<std::string, std::string> values_;
};

struct Example {
  std::string command;
  std::string explanation;
};

struct Analysis {
  std::string name;         // "top"
  std::string summary;      // one line for --help
  std::string description;  // paragraphs for --help
  std::string definition;   // paragraphs; what each column means, exactly
  std::vector<Example> examples;
  std::vector<Option> options;
  // Which columns; window and filters are the caller's. --kernel filters operations, unless it
  // explains idle time, or --name calls where there are no operations among them.
  trace::Request (*needs)(const Parameters& parameters);
  Result<report::Report> (*run)(const trace::Trace& trace, const Parameters& parameters);
  bool in_overview = false;  // part of `sonde analyze`: cheap, and says something by itself
};

// Generated from the files of analysis/.
std::span<const Analysis> all_analyses();
const Analysis* find_analysis(std::string_view name);

// For code that runs one analysis with its defaults and knows that it exists.
trace::Request needs_of(std::string_view name);
Result<report::Report> run_analysis(std::string_view name, const trace::Trace& trace);

}  // namespace sonde::analysis
