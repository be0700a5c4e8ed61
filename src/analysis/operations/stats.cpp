#include "analysis/operations/stats.h"

#include <fmt/format.h>

#include <cctype>
#include <map>

#include "analysis/host/api_totals.h"
#include "analysis/operations/op_groups.h"
#include "base/quoted.h"

namespace sonde::analysis {

const char* const kStatsDefinition =
    "stats: the files of rocprof --stats. Each has the columns Name, Calls, TotalDurationNs, "
    "AverageNs (rounded down) and Percentage (of the total of that file), largest total first. "
    "PREFIX.stats.csv has every device operation except those in PREFIX.copy_stats.csv, which has "
    "copies, fills, maps and migrations. PREFIX.DOMAIN_stats.csv has the calls of one API: hip, "
    "hsa, opencl, roctx and so on, in lower case. A file without rows is not written.\n";

namespace {

// As Python prints a float: "100.0", "33.333333333333336".
std::string percentage(int64_t part, int64_t whole) {
  const double value =
      whole == 0 ? 0.0 : static_cast<double>(part) * 100.0 / static_cast<double>(whole);
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

using NamedTotal = std::pair<std::string, Total>;

StatsFile make_file(std::string suffix, std::string contents,
                    const std::vector<NamedTotal>& totals) {
  StatsFile file{std::move(suffix), std::move(contents), totals.size(), {}};
  file.text = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n";
  int64_t whole = 0;
  for (const auto& [name, total] : totals) whole += total.total_ns;
  for (const auto& [name, total] : totals) {
    // Names are always in quotes, as rocprof writes them.
    file.text += fmt::format("{},{},{},{},{}\n", in_quotes(name, '"'), total.calls, total.total_ns,
                             total.mean_ns(), percentage(total.total_ns, whole));
  }
  return file;
}

std::vector<NamedTotal> op_totals(const trace::Trace& trace, const std::vector<bool>& wanted) {
  std::vector<NamedTotal> totals;
  for (const OpGroup& group : group_ops(trace, {"name"}, wanted).groups) {
    totals.emplace_back(group.name(), group.time);
  }
  return totals;
}

// A domain as part of a file's name.
std::string file_word(const std::string& domain) {
  std::string word;
  for (const char c : domain) {
    const auto byte = static_cast<unsigned char>(c);
    word += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return word.empty() ? "api" : word;
}

}  // namespace

std::vector<StatsFile> stats_files(const trace::Trace& trace) {
  std::vector<StatsFile> files;
  std::vector<bool> wanted =
      ops_where(trace, [&](size_t op) { return trace::moves_memory(trace.class_of(op)); });
  const auto copies = op_totals(trace, wanted);
  wanted.flip();
  const auto ops = op_totals(trace, wanted);
  if (!ops.empty()) files.push_back(make_file(".stats.csv", "kernels", ops));
  if (!copies.empty()) files.push_back(make_file(".copy_stats.csv", "copies", copies));
  std::map<std::string, std::vector<NamedTotal>> by_domain;
  for (const ApiTotal& total : api_totals(trace)) {
    by_domain[file_word(trace.names[total.domain])].emplace_back(total.name, total.time);
  }
  for (const auto& [domain, totals] : by_domain) {
    files.push_back(make_file("." + domain + "_stats.csv", domain + " calls", totals));
  }
  return files;
}

}  // namespace sonde::analysis
