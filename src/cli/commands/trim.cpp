// sonde trim: a part of a trace as a smaller .rpd.
#include "store/trim.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/free_name.h"
#include "base/strings.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "cli/trace_name.h"

namespace sonde::cli {

namespace {

namespace fs = std::filesystem;

std::string count_of(const store::TrimReport::Rows& rows) {
  return fmt::format("{} of {}", format_count(static_cast<uint64_t>(rows.after)),
                     format_count(static_cast<uint64_t>(rows.before)));
}

// Files that a program which still has it open keeps beside it would then belong to another file.
Status check_in_place(const std::string& path) {
  std::error_code error;
  for (const char* beside : {"-wal", "-journal"}) {
    if (fs::file_size(path + beside, error) > 0 && !error) {
      return make_error(ErrorCode::kUnsupported, "another program is writing it", path,
                        "write a new file with -o");
    }
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    if (::access(path.c_str(), W_OK) == 0) return ok_status();
    return make_error(ErrorCode::kIo, "it is write-protected", path, "write a new file with -o");
  }
  return make_error(ErrorCode::kUnsupported, "it is not a regular file", path,
                    "write a new file with -o");
}

Result<std::string> output_of(const Arguments& arguments, const std::string& input) {
  std::error_code error;
  if (!arguments.flag("in-place")) {
    fs::path path(input);
    if (path.extension() == ".gz") path.replace_extension();
    const std::string wanted =
        arguments.value_or("output", path.replace_extension().string() + ".trimmed.rpd");
    SONDE_TRY(check_trace_name(wanted));
    std::string output = free_name(wanted);
    if (output != wanted && !arguments.flag("dry-run")) {
      print_error_line(wanted + " exists; writing " + output);
    }
    return output;
  }
  if (arguments.value("output")) {
    return make_error(ErrorCode::kInvalidArgument, "cannot be combined", "-o and --in-place");
  }
  if (fs::path(input).extension() == ".gz") {
    return make_error(ErrorCode::kUnsupported, "it is compressed", input,
                      "write a new file with -o");
  }
  const std::string file = fs::canonical(input, error).string();  // of a link: what it leads to
  SONDE_TRY(check_in_place(error ? input : file));
  return error ? input : file;
}

Result<int> run(const Arguments& arguments) {
  const std::string& input = arguments.positionals()[0];
  const trace::WindowText text = window_text(arguments);
  if (!text.given()) {
    return make_error(ErrorCode::kInvalidArgument, "no window is given", input,
                      "say which part with --from, --to or --window");
  }
  SONDE_ASSIGN(auto reader, store::Reader::open(input));
  SONDE_ASSIGN(const trace::Window window, trace::window_of(reader, text));
  const store::TrimWindow part{window.select.start_ns, window.select.end_ns};
  SONDE_ASSIGN(const std::string output, output_of(arguments, input));
  const bool dry = arguments.flag("dry-run");
  const std::string origin = fmt::format(
      "{} of {}", text.named.value_or(text.from.value_or("0s") + " to " + text.to.value_or("100%")),
      input);
  SONDE_ASSIGN(const store::TrimReport report,
               dry ? store::count_trimmed(reader, part)
                   : store::trim(reader, output, part, origin, arguments.flag("in-place")));
  for (const std::string& note : report.notes) print_error_line(input + ": " + note);
  std::error_code error;
  const std::string size =
      dry ? "nothing is written" : format_size(static_cast<uint64_t>(fs::file_size(output, error)));
  SONDE_TRY(write_stdout(fmt::format("{}: {} operations, {} API calls and markers, {}\n",
                                     dry ? input : output, count_of(report.ops),
                                     count_of(report.apis), size)));
  return 0;
}

constexpr const char* kText = R"(
trim - Keep a part of a trace, as a smaller .rpd

Writes a new .rpd with all calls, operations and values that overlap the window, and everything that
belongs to them: links, arguments, counters, call stacks, names. What reaches beyond the window's
edges stays whole. Times of processes are limited to the window. Devices, notes, clocks and counted
losses stay as they are, ids and the version of the schema too; secrets in command lines and notes
are hidden, as in exports. A call that ended before the window is left out, and an operation that it
launched then has no call.

An existing file is not overwritten, the next free name is taken; --in-place replaces FILE itself,
in one step and only when all has been written.

Arguments:
FILE

Options:
-o, --output FILE  the .rpd to write [the input's name with .trimmed.rpd]
--in-place  replace FILE
--dry-run  say what would stay, and write nothing
--from --to --window

Examples:
sonde trim trace.rpd --from 20% --to 30%  a tenth of the trace as trace.trimmed.rpd
sonde trim trace.rpd -o end.rpd --from -10s  the last ten seconds
)";

}  // namespace

Command trim_command() { return make_command(kText, run); }

}  // namespace sonde::cli
