#include "cli/next_step.h"

#include <fmt/format.h>

#include <filesystem>

#include "analysis/findings/findings.h"
#include "base/quoted.h"
#include "trace/steps.h"
#include "trace/trace.h"

namespace sonde::cli {
namespace {

constexpr int64_t kMostRows = 2'000'000;  // of a larger trace the answer is not worth the wait
constexpr double kLeastPercentage = 5;    // that of sonde check

Result<int64_t> rows_of(store::Reader& reader) {
  SONDE_ASSIGN(auto rows, reader.database().prepare(
                              "SELECT (SELECT count(*) FROM v_op) + (SELECT count(*) FROM v_api)"));
  SONDE_ASSIGN(const bool any, rows.step());
  return any ? rows.integer(0) : int64_t{0};
}

std::string command_for(const trace::Trace& trace) {
  if (trace.ops.size() == 0) {
    if (trace.samples.size() != 0 || trace.blocked.size() != 0) return "stacks";
    return trace.apis.size() != 0 ? "launches --api" : "info";
  }
  const auto steps = trace::find_steps(trace, "");
  return steps && !steps->steps.empty() ? "steps" : "kernels";
}

}  // namespace

Result<std::vector<std::string>> next_steps(store::Reader& reader, const std::string& path) {
  SONDE_ASSIGN(const int64_t rows, rows_of(reader));
  const auto next = [&](const std::string& command) {
    return fmt::format("next: sonde {} {}", command, shell_word(path));
  };
  if (rows > kMostRows) return std::vector<std::string>{next("check")};
  SONDE_ASSIGN(trace::Trace trace, trace::load(reader, analysis::findings_needs()));
  const std::string otherwise = command_for(trace);
  analysis::leave_out_warm_up(trace);
  const auto findings = analysis::findings_of({&trace, 1}, kLeastPercentage);
  if (findings.empty()) return std::vector<std::string>{next(otherwise)};
  const analysis::Finding& first = findings.front();
  return std::vector<std::string>{
      fmt::format("found: {} ({:.0f} % of the {})", first.title, first.saving_percentage(),
                  trace.ops.size() != 0 ? "GPUs' time" : "threads' time"),
      // For a program without a GPU the stacks show which code it is.
      next(trace.ops.size() != 0 ? "check" : otherwise)};
}

std::string newest_trace(const std::string& folder) {
  std::string newest;
  std::filesystem::file_time_type newest_time{};
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unreadable;
    if (entry->path().extension() != ".rpd" || !entry->is_regular_file(unreadable)) continue;
    const auto time = entry->last_write_time(unreadable);
    if (unreadable || (!newest.empty() && time <= newest_time)) continue;
    newest = entry->path().filename().string();
    newest_time = time;
  }
  return newest;
}

}  // namespace sonde::cli
