#include "cli/monitor_kernels.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/time.h"
#include "record/live.h"
#include "store/each_row.h"

namespace sonde::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kLongest = "10m";  // to look for longer, press the key again
constexpr int64_t kSpanNs = 10'000'000'000;
// A reading takes a few milliseconds, however long the recording is.
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
  watch::LiveKernels live;
  const auto take = [&](const store::Statement& rows) {
    const watch::LiveKernel kernel = {std::string(rows.text(0)), rows.integer(1), rows.integer(2)};
    live.all.calls += kernel.calls;
    live.all.total_ns += kernel.total_ns;
    if (live.kernels.size() < kMostKernels) live.kernels.push_back(kernel);
  };
  SONDE_TRY(store::each_row(trace, kSql, take, kMostRows, from_ns, pid));
  return live;
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
  return child_.start(
      pid_, {"--metrics", "off", "--sample", "off", "--duration", kLongest, "-o", trace_});
}

std::optional<watch::LiveKernels> MonitorKernels::look() {
  if (pid_ == 0) return std::nullopt;
  if (child_.ended()) {
    problem_ = child_.last_line();
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
  child_.stop();
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
  folder_.clear();
  trace_.clear();
  problem_.clear();
  pid_ = 0;
}

}  // namespace sonde::cli
