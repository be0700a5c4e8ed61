#include "monitor/process.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/strings.h"
#include "monitor/kept_file.h"
#include "monitor/process_text.h"

namespace sonde::monitor {

namespace {

// Of ProcessStat::fields.
constexpr int kMinorFaults = 10, kMajorFaults = 12, kUserTicks = 14, kSystemTicks = 15,
              kThreads = 20, kRssPages = 24;

}  // namespace

bool ProcessReader::read(Round& round) {
  if (!read_stat(round)) return false;
  if (round.wants(Id::kRead) || round.wants(Id::kWritten)) read_io(round);
  if (round.wants(Id::kVoluntary) || round.wants(Id::kInvoluntary) || round.wants(Id::kCpuWait)) {
    read_threads(round);
  }
  if (round.wants(Id::kPss) && !zombie_) read_pss(round);
  return true;
}

bool ProcessReader::read_stat(Round& round) {
  int error = 0;
  const auto text = read_file(folder_ + "/stat", &error);
  if (!text) {
    const bool gone = error == ENOENT || error == ESRCH;
    if (!gone) round.missing("process", folder_ + "/stat", error);
    // A folder without the host's own figures shows no process either.
    std::error_code ignored;
    if (error == ENOENT && !std::filesystem::exists(proc_ + "/stat", ignored)) {
      round.missing("process", proc_ + "/PID/stat", error);
    }
    return !gone;
  }
  const ProcessStat stat = parse_stat(*text).value_or(ProcessStat());
  const auto& fields = stat.fields;
  zombie_ = stat.has_ended();
  const auto put = [&](Id id, double value) { round.put(id, pid_, value); };
  const double tick_ms = 1000.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  put(Id::kMinorFaults, static_cast<double>(fields[kMinorFaults]));
  put(Id::kMajorFaults, static_cast<double>(fields[kMajorFaults]));
  put(Id::kUser, tick_ms * static_cast<double>(fields[kUserTicks]));
  put(Id::kSystem, tick_ms * static_cast<double>(fields[kSystemTicks]));
  thread_count_ = fields[kThreads];
  if (zombie_) return true;  // it has nothing left but its counts
  put(Id::kThreads, static_cast<double>(fields[kThreads]));
  put(Id::kRss,
      static_cast<double>(fields[kRssPages]) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  return true;
}

// A process that has just ended has files that belong to root, or none. Nothing is missing then.
void ProcessReader::complain(Round& round, const std::string& file, int error) {
  if (zombie_ || error == ESRCH || error == ENOENT) return;
  const auto stat = parse_stat(read_text(folder_ + "/stat"));
  if (stat && !stat->has_ended()) round.missing("process", file, error);
}

void ProcessReader::read_io(Round& round) {
  int error = 0;
  const auto text = read_file(folder_ + "/io", &error);
  if (!text) return complain(round, folder_ + "/io", error);
  const int64_t read = number_of(*text, "read_bytes"), written = number_of(*text, "write_bytes");
  if (read >= 0) round.put(Id::kRead, pid_, static_cast<double>(read));
  if (written >= 0) round.put(Id::kWritten, pid_, static_cast<double>(written));
}

void ProcessReader::read_pss(Round& round) {
  int error = 0;
  const auto text = read_file(folder_ + "/smaps_rollup", &error);
  if (!text) return complain(round, folder_ + "/smaps_rollup", error);
  if (const int64_t kib = number_of(*text, "Pss"); kib >= 0) {
    round.put(Id::kPss, pid_, static_cast<double>(kib) * 1024);
  }
}

void ProcessReader::list_threads() {
  if (thread_count_ == 1) return waiting_.push_back(pid_);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/task", error)) {
    if (const auto tid = parse_int(entry.path().filename().string())) waiting_.push_back(*tid);
  }
  // Taken from the end: the newest come last, and so first, being those that may end soonest.
  std::sort(waiting_.begin(), waiting_.end());
}

void ProcessReader::read_thread(int64_t tid) {
  const std::string folder = folder_ + "/task/" + std::to_string(tid);
  if (const auto text = read_file(folder + "/status")) {
    Counts& counts = threads_[tid];
    counts.voluntary = std::max(counts.voluntary, number_of(*text, "voluntary_ctxt_switches"));
    counts.involuntary =
        std::max(counts.involuntary, number_of(*text, "nonvoluntary_ctxt_switches"));
  }
  if (const auto text = read_file(folder + "/schedstat")) {  // on a CPU, waiting for one, turns
    std::string_view rest = *text;
    take_word(rest);
    Counts& counts = threads_[tid];
    counts.wait_ns = std::max(counts.wait_ns, leading_number(take_word(rest)));
    has_waits_ = true;
  }
}

void ProcessReader::read_threads(Round& round) {
  if (waiting_.empty()) list_threads();
  for (size_t i = 0; i < kThreadsATick && !waiting_.empty(); ++i) {
    read_thread(waiting_.back());
    waiting_.pop_back();
  }
  Counts sum;
  for (const auto& [tid, counts] : threads_) {
    sum.voluntary += counts.voluntary;
    sum.involuntary += counts.involuntary;
    sum.wait_ns += counts.wait_ns;
  }
  const auto put = [&](Id id, int64_t value) { round.put(id, pid_, static_cast<double>(value)); };
  put(Id::kVoluntary, sum.voluntary);
  put(Id::kInvoluntary, sum.involuntary);
  if (has_waits_) put(Id::kCpuWait, sum.wait_ns / 1'000'000);
}

}  // namespace sonde::monitor
