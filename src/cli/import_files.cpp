#include "cli/import_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/free_name.h"
#include "base/printable.h"
#include "base/strings.h"
#include "base/terminal_line.h"
#include "base/time.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "cli/trace_name.h"
#include "importers/import.h"
#include "store/ingest/unfinished.h"
#include "store/input_file.h"
#include "store/recording.h"
#include "store/rotation.h"

namespace sonde::cli {

namespace {

constexpr int64_t kRedrawNs = 200'000'000;

std::string summary_line(const importers::Imported& imported) {
  struct stat status {};
  ::stat(imported.path.c_str(), &status);
  const auto& counts = imported.counts;
  uint64_t skipped = 0;
  for (const auto& file : imported.files) skipped += file.tally.skipped_count();
  std::string line = fmt::format(
      "{}: {} operations, {} API calls and markers, {} launch links, {} counter values, {}",
      imported.path, format_count(counts.ops), format_count(counts.apis),
      format_count(counts.links), format_count(counts.counters),
      format_size(static_cast<uint64_t>(status.st_size)));
  if (imported.files.size() > 1) line += fmt::format(", from {} files", imported.files.size());
  line += skipped == 0 ? "; nothing skipped" : "; " + format_count(skipped) + " skipped";
  return line;
}

importers::Align align_of(const Arguments& arguments) {
  const std::string how = arguments.value_or("align", "clocks");
  if (how == "start") return importers::Align::kStarts;
  return how == "none" ? importers::Align::kNone : importers::Align::kClocks;
}

// Whether they are all parts of one recording.
Result<bool> are_parts(const std::vector<std::string>& paths) {
  std::string recording;
  for (const std::string& path : paths) {
    auto database = store::open_input(path);
    if (!database) return false;
    auto own = store::rotated_recording(*database);
    if (!own || own->empty() || (!recording.empty() && *own != recording)) return false;
    recording = *own;
    SONDE_ASSIGN(const auto unfinished, store::unfinished_session(*database));
    if (unfinished) {
      return make_error(ErrorCode::kUnsupported, "the recording still writes to it", path,
                        "leave it out, or use sonde snapshot");
    }
  }
  return true;
}

Result<int> join_files(const std::vector<std::string>& paths, const std::string& output) {
  SONDE_TRY(store::join_parts(paths, output));
  SONDE_ASSIGN(auto database, store::Database::open(output, store::Database::Mode::kReadOnly));
  SONDE_ASSIGN(const auto rows, store::count_rows(database));
  SONDE_TRY(write_stdout(
      fmt::format("{}: {} operations, {} API calls and markers, from {} parts of one "
                  "recording\n",
                  output, format_count(rows.ops), format_count(rows.apis), paths.size())));
  return 0;
}

}  // namespace

Result<int> import_files(const Arguments& arguments, const std::string& wanted) {
  const auto& inputs = arguments.positionals();
  SONDE_TRY(check_trace_name(wanted));
  const std::string output = free_name(wanted);
  if (output != wanted) print_error_line(wanted + " exists; writing " + output);
  SONDE_ASSIGN(const bool parts, are_parts(inputs));
  if (parts && inputs.size() > 1) return join_files(inputs, output);
  TerminalLine line(true, kRedrawNs, monotonic_now_ns());
  importers::ImportOptions options;
  options.as = arguments.value_or("as", "");
  options.align = align_of(arguments);
  options.progress = [&](uint64_t done, uint64_t total) {
    if (!line.is_due()) return;
    std::string text =
        fmt::format("importing into {}  {}", printable(output, Lines::kJoin), format_size(done));
    if (total > 0) text += fmt::format(" of {}  {}%", format_size(total), done * 100 / total);
    line.draw(text);
  };
  const auto imported = importers::import_files(inputs, output, options);
  line.clear();
  if (!imported) return imported.error();
  for (const auto& file : imported->files) {
    for (const std::string& warning : file.tally.warnings()) {
      print_error_line(file.path + ": warning: " + warning);
    }
    for (const std::string& remark : file.tally.remarks()) {
      print_error_line(file.path + ": " + remark);
    }
  }
  SONDE_TRY(write_stdout(summary_line(*imported) + "\n"));
  return 0;
}

}  // namespace sonde::cli
