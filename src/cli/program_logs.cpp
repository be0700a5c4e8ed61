#include "cli/program_logs.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/strings.h"
#include "cli/terminal.h"
#include "importers/logs/append_log.h"

namespace sonde::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kHipLog = "hip.log";
constexpr const char* kMiopenLog = "miopen.log";

void append(const char* importer, const std::string& log, const record::Outcome& outcome,
            const std::vector<int64_t>& line_times_ns, bool quiet) {
  const auto appended = importers::append_log(importer, log, outcome.path, line_times_ns);
  if (!appended) return print_error_line(appended.error().to_line());
  for (const std::string& warning : appended->tally.warnings()) {
    print_error_line("warning: " + warning);
  }
  if (quiet) return;
  print_error_line(
      fmt::format("{} entries of the {} are in the trace", format_count(appended->entries),
                  std::string_view(importer) == "amd-log" ? "log of HIP" : "log of MIOpen"));
}

}  // namespace

Result<ProgramLogs> ProgramLogs::prepare(const Arguments& arguments, record::Options& options) {
  ProgramLogs logs;
  const auto level = arguments.value("hip-log");
  logs.hip_ = level.has_value();
  logs.miopen_ = arguments.flag("miopen-log");
  if (!logs.hip_ && !logs.miopen_) return logs;
  SONDE_ASSIGN(auto folder, TemporaryDirectory::create());
  const std::string path = folder.path() + "/";
  logs.folder_.emplace(std::move(folder));
  if (logs.hip_) {
    options.environment.push_back("AMD_LOG_LEVEL=" + *level);
    options.environment.push_back("AMD_LOG_LEVEL_FILE=" + path + kHipLog);
  }
  if (logs.miopen_) {
    options.environment.emplace_back("MIOPEN_ENABLE_LOGGING=1");
    options.environment.emplace_back("MIOPEN_ENABLE_LOGGING_CMD=1");
    options.stderr_log = path + kMiopenLog;
    options.stderr_prefix = "MIOpen";
  }
  return logs;
}

void ProgramLogs::append_to(const record::Outcome& outcome, bool quiet) const {
  if (!folder_ || outcome.path.empty() || !outcome.kept_session.empty()) return;
  std::error_code error;
  bool any_of_hip = false;
  for (const auto& entry : fs::directory_iterator(folder_->path(), error)) {
    const std::string name = entry.path().filename().string();
    // Newer versions of HIP add the number of the process.
    if (starts_with_any(name, {kHipLog}) && entry.file_size(error) > 0) {
      append("amd-log", entry.path().string(), outcome, {}, quiet);
      any_of_hip = true;
    }
    if (name == kMiopenLog && entry.file_size(error) > 0) {
      append("miopen-log", entry.path().string(), outcome, outcome.stderr_line_times_ns, quiet);
    }
  }
  if (hip_ && !any_of_hip && !quiet) {
    print_error_line("HIP wrote no log: the program did not use HIP");
  }
}

}  // namespace sonde::cli
