// What the commands that answer questions share: their options, declared once, and the way from an
// .rpd file to a printed report.
#pragma once

#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "base/result.h"
#include "cli/command.h"
#include "report/report.h"

namespace sonde::cli {

// --format, --limit, --sort, --full-names, --explain.
std::vector<Option> report_options();
// --from, --to.
std::vector<Option> window_options();
std::vector<Option> joined(std::vector<Option> first, const std::vector<Option>& second);

// The positional FILE of every command that reads a trace.
Positional trace_file();

// Sorts and cuts the first table as the options say, renders the report and writes it to stdout.
// Warnings that the format cannot show go to stderr.
Result<int> print_report(const Arguments& arguments, report::Report report);

// A command that runs one analysis on one file; `name_option` is "--kernel" or "--name".
Command analysis_command(const analysis::Analysis& analysis, std::string summary,
                         std::string description, std::vector<Example> examples,
                         const char* name_option = "--kernel");

// --explain without a file: prints what the figures mean. nullopt if it was not given.
Result<int> print_definition(const std::string& definition);

}  // namespace sonde::cli
