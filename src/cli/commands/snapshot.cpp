// sonde snapshot: what a recording with --last or --rotate has at this moment.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/free_name.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/finding_names.h"
#include "cli/terminal.h"
#include "cli/trace_name.h"
#include "record/live.h"
#include "record/parts.h"
#include "store/database.h"
#include "store/rotation.h"

namespace sonde::cli {

namespace {

namespace fs = std::filesystem;

// What --last says of the recording; 0 where it is rotated only.
Result<int64_t> kept_ns(const std::string& part) {
  SONDE_ASSIGN(auto database, store::Database::open(part, store::Database::Mode::kReadOnly));
  return database.integer(
      "SELECT CAST(value AS integer) FROM rocpd_metadata WHERE tag = "
      "'sonde::last_ns'");
}

// Hard links to the parts, in a folder beside them, so that none disappears while they are joined:
// the recording deletes its oldest meanwhile. Without hard links, the parts themselves.
class HeldParts {
 public:
  explicit HeldParts(const std::vector<std::string>& parts) {
    const fs::path beside = parts.front();
    folder_ = beside.parent_path() / fmt::format(".{}.{}", beside.stem().string(), ::getpid());
    std::error_code error;
    fs::create_directory(folder_, error);
    for (const std::string& part : parts) {
      const fs::path held = folder_ / fs::path(part).filename();
      fs::create_hard_link(part, held, error);
      if (!error) {
        paths_.push_back(held.string());
      } else if (fs::exists(part, error)) {
        paths_.push_back(part);
      }
    }
  }
  ~HeldParts() {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  HeldParts(const HeldParts&) = delete;
  HeldParts& operator=(const HeldParts&) = delete;
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  fs::path folder_;
  std::vector<std::string> paths_;
};

Status join(const std::vector<std::string>& parts, const std::string& output) {
  const HeldParts held(parts);
  if (held.paths().empty()) {
    return make_error(ErrorCode::kNotFound, "its parts are gone", parts.back());
  }
  SONDE_ASSIGN(const int64_t last_ns, kept_ns(held.paths().back()));
  SONDE_TRY(store::join_parts(held.paths(), output, last_ns));
  return ok_status();
}

// Whether sonde check finds one of these in it, in a separate process whose output is discarded.
Result<bool> has_finding(const std::string& trace, const std::string& names) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) ::dup2(nothing, STDOUT_FILENO);
    ::execl("/proc/self/exe", "sonde", "check", "--fail-on", names.c_str(), trace.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kFound = 3;
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == kFound) return true;
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
  return make_error(ErrorCode::kIo, "sonde check failed", trace);
}

// Returns 0, or 3 if nothing was found and so nothing is kept.
Result<int> write_if_found(const record::LiveRecording& recording, const std::string& names) {
  SONDE_ASSIGN(const auto parts, record::cut_recording(recording));
  if (parts.empty()) return 3;
  const std::string base = record::base_of_part(parts.back()).value_or(parts.back());
  const std::string stem = base.substr(0, base.rfind('.'));
  const std::string tried = stem + ".looked-at.rpd";
  ::unlink(tried.c_str());
  const auto joined = join(parts, tried);
  const auto found = joined ? has_finding(tried, names) : Result<bool>(joined.error());
  if (!found || !*found) ::unlink(tried.c_str());
  if (!found) return found.error();
  if (!*found) return 3;
  const std::string output = free_name(stem + ".snapshot.rpd");
  if (::rename(tried.c_str(), output.c_str()) != 0) {
    return errno_error("cannot rename to " + output, tried, errno);
  }
  SONDE_TRY(write_stdout(fmt::format("{}: {} was found in {}\n", output, names, base)));
  return 0;
}

Status write_snapshot(const record::LiveRecording& recording, const std::string& wanted) {
  SONDE_ASSIGN(const auto parts, record::cut_recording(recording));
  if (parts.empty()) {
    return make_error(ErrorCode::kNotFound, "its parts are gone", recording.output);
  }
  const std::string base = record::base_of_part(parts.back()).value_or(parts.back());
  const std::string name =
      wanted.empty() ? base.substr(0, base.rfind('.')) + ".snapshot.rpd" : wanted;
  const std::string output = free_name(name);
  if (output != name) print_error_line(name + " exists; writing " + output);
  SONDE_ASSIGN(const int64_t last_ns, kept_ns(parts.back()));
  SONDE_TRY(join(parts, output));
  const std::string what =
      last_ns != 0 ? "the last " + format_duration(last_ns) : fmt::format("{} parts", parts.size());
  return write_stdout(fmt::format("{}: {} of {}\n", output, what, base));
}

Result<std::vector<record::LiveRecording>> chosen_of(const Arguments& arguments) {
  const auto session = arguments.value("session");
  if (!session) {
    return record::choose_recordings(arguments.positionals(), arguments.flag("all"));
  }
  for (const record::LiveRecording& each : record::live_recordings()) {
    if (each.session == *session) return std::vector<record::LiveRecording>{each};
  }
  return make_error(ErrorCode::kNotFound, "no recording is in progress there", *session);
}

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(const auto chosen, chosen_of(arguments));
  if (const auto names = arguments.value("if-finding")) {
    if (chosen.size() != 1 || arguments.value("output")) {
      return make_error(ErrorCode::kInvalidArgument, "is for one recording, without -o",
                        "--if-finding");
    }
    SONDE_TRY(chosen_findings(*names, "--if-finding"));
    return write_if_found(chosen.front(), *names);
  }
  const std::string output = arguments.value_or("output", "");
  SONDE_TRY(check_trace_name(output));
  if (!output.empty() && chosen.size() > 1) {
    return make_error(ErrorCode::kInvalidArgument, "there are several recordings", "-o",
                      "leave it out, or name one recording");
  }
  for (const record::LiveRecording& recording : chosen) {
    SONDE_TRY(write_snapshot(recording, output));
  }
  return 0;
}

constexpr const char* kText = R"(
snapshot - Write what a running recording holds so far as a trace

For a recording that keeps only its end (sonde record --last 30s), writes the 30 s before this
moment; for a rotated one (--rotate), all parts that are kept, as one trace. The recording goes on.

WHICH is a process of the recording, or the trace that it writes, by its path or name. It can be
left out where only one is in progress. An existing file is never overwritten: the next free name is
taken.

Arguments:
[WHICH...]

Options:
-o, --output FILE  the trace to write [TRACE.snapshot.rpd]
--if-finding LIST  only if sonde check finds one of these in it, e.g. waits, or any; else exit with
    3 [always]
--session DIR  the recording with this session directory [as WHICH says]
--all

Examples:
sonde record --last 30s -o serving.rpd -- ./server  keeps half a minute
sonde snapshot serving  from another terminal: something was slow just now
)";

}  // namespace

Command snapshot_command() { return make_command(kText, run); }

}  // namespace sonde::cli
