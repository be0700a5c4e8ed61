#include "cli/monitor_kernels.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/strings.h"
#include "base/time.h"
#include "record/live.h"
#include "store/database.h"

namespace sonde::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kLongest = "10m";  // who looks for longer presses the key again
constexpr int64_t kSpanNs = 10'000'000'000;
// A look takes some milliseconds whatever the length of the recording.
constexpr int kMostRows = 50'000;
constexpr size_t kMostKernels = 50;

// The newest operations, their calls by the newest links, and the kernel's name or, of a copy, what
// it is. An operation without a call may be of any process of the trace.
constexpr const char* kSql =
    "WITH ops AS (SELECT * FROM rocpd_op ORDER BY id DESC LIMIT ?1), "
    "links AS MATERIALIZED (SELECT op_id, api_id FROM rocpd_api_ops ORDER BY id DESC LIMIT ?1) "
    "SELECT iif(d.string <> '', d.string, t.string), count(*), sum(o.end - o.start) FROM ops o "
    "JOIN rocpd_string d ON d.id = o.description_id JOIN rocpd_string t ON t.id = o.opType_id "
    "LEFT JOIN links l ON l.op_id = o.id LEFT JOIN rocpd_api a ON a.id = l.api_id "
    "WHERE o.end >= ?2 AND ifnull(a.pid, ?3) = ?3 GROUP BY 1 ORDER BY 3 DESC";

Result<watch::LiveKernels> read_trace(const std::string& path, int64_t pid, int64_t from_ns) {
  SONDE_ASSIGN(auto trace, store::Database::open(path, store::Database::Mode::kReadOnly));
  SONDE_ASSIGN(auto statement, trace.prepare(kSql));
  statement.bind(1, kMostRows);
  statement.bind(2, from_ns);
  statement.bind(3, pid);
  watch::LiveKernels live;
  for (;;) {
    SONDE_ASSIGN(const bool more, statement.step());
    if (!more) return live;
    const watch::LiveKernel kernel = {std::string(statement.text(0)), statement.integer(1),
                                      statement.integer(2)};
    live.all.calls += kernel.calls;
    live.all.total_ns += kernel.total_ns;
    if (live.kernels.size() < kMostKernels) live.kernels.push_back(kernel);
  }
}

// The trace of a recording that the process is in. Of one with parts it is the part that is
// written.
std::string trace_of_recording(int64_t pid) {
  for (const record::LiveRecording& each : record::live_recordings()) {
    const auto& processes = each.processes;
    if (std::find(processes.begin(), processes.end(), pid) != processes.end()) return each.output;
  }
  return {};
}

}  // namespace

void MonitorKernels::show(int64_t pid) {
  stop();
  pid_ = pid;
  if (pid == 0) return;
  since_ns_ = monotonic_now_ns();
  if (auto begun = begin(); !begun) problem_ = begun.error().to_line();
}

Status MonitorKernels::begin() {
  trace_ = trace_of_recording(pid_);
  if (!trace_.empty()) {
    since_ns_ -= kSpanNs;
    return ok_status();
  }
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "sonde-monitor-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return errno_error("cannot make a folder", name, errno);
  folder_ = name;
  trace_ = folder_ + "/live.rpd";
  return record();
}

Status MonitorKernels::record() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return errno_error("cannot make a pipe", "", errno);
  }
  output_ = UniqueFd(ends[0]);
  const UniqueFd writing(ends[1]);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &mask_);
  const std::string number = std::to_string(pid_);
  const char* words[] = {"sonde", "record",       "--pid", number.c_str(), "--metrics",
                         "off",   "--sample",     "off",   "--duration",   kLongest,
                         "-o",    trace_.c_str(), nullptr};
  const int error = ::posix_spawn(&child_, "/proc/self/exe", &files, &attributes,
                                  const_cast<char**>(words), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return ok_status();
  child_ = -1;
  return errno_error("cannot be recorded", "process " + number, error);
}

bool MonitorKernels::has_ended() {
  if (child_ <= 0 || ::waitpid(child_, nullptr, WNOHANG) != child_) return false;
  child_ = -1;
  return true;
}

// What the recorder says is short, so it fits into the pipe.
std::string MonitorKernels::last_words() const {
  char text[4096];
  const ssize_t got = ::read(output_.get(), text, sizeof text);
  std::string last;
  for (const auto line :
       split(std::string_view(text, got > 0 ? static_cast<size_t>(got) : 0), '\n')) {
    constexpr std::string_view kOwn = "sonde: ";
    if (!line.empty()) last = line.starts_with(kOwn) ? line.substr(kOwn.size()) : line;
  }
  return last;
}

std::optional<watch::LiveKernels> MonitorKernels::look() {
  if (pid_ == 0) return std::nullopt;
  if (has_ended()) {
    problem_ = last_words();
    if (problem_.empty()) problem_ = "its recording has ended";
  }
  if (folder_.empty() && problem_.empty()) {  // the next part, where it has some
    trace_ = trace_of_recording(pid_);
    if (trace_.empty()) problem_ = "its recording has ended";
  }
  watch::LiveKernels live;
  if (problem_.empty()) {
    const int64_t now_ns = monotonic_now_ns();
    const int64_t from_ns = std::max(since_ns_, now_ns - kSpanNs);
    // Until the recorder has made the file there is nothing to read.
    if (auto read = read_trace(trace_, pid_, from_ns)) live = std::move(*read);
    live.span_s = static_cast<double>(now_ns - from_ns) / 1e9;
    live.source = folder_.empty() ? "from " + trace_ : "recorded for this screen";
  } else {
    live.source = problem_;
  }
  live.pid = pid_;
  return live;
}

void MonitorKernels::stop() {
  if (child_ > 0) {
    ::kill(child_, SIGINT);
    ::waitpid(child_, nullptr, 0);
  }
  child_ = -1;
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
  folder_.clear();
  trace_.clear();
  problem_.clear();
  output_.reset();
  pid_ = 0;
}

}  // namespace sonde::cli
