#include "record/liveness.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/number.h"
#include "base/time.h"
#include "monitor/kept_file.h"
#include "monitor/process_text.h"
#include "wire/chunk.h"

namespace sonde::record {

namespace {

constexpr int64_t kLookEveryNs = 500'000'000;
constexpr rlim_t kOtherFiles = 64;  // for chunks, the trace, and what metrics are read from

// Whether others can be opened beside this one, whose number is the lowest that was free.
bool leaves_room(long fd) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
         static_cast<rlim_t>(fd) + kOtherFiles < limit.rlim_cur;
}

}  // namespace

TracedProcess open_process(const Drain::Live& live) {
  TracedProcess process;
  process.pid = live.pid;
  process.other_namespace = live.other_namespace;
  process.seen_ns = monotonic_now_ns();
  if (!live.other_namespace) {
    const long fd = ::syscall(SYS_pidfd_open, static_cast<pid_t>(live.pid), 0);
    process.handle = UniqueFd(static_cast<int>(fd));
    const bool full = fd < 0 ? errno == EMFILE || errno == ENFILE : !leaves_room(fd);
    // An old kernel, or a container that denies the call. ESRCH: the process has ended.
    if (fd < 0 && !full && errno != ESRCH) process.denied = errno;
    if (full) process.handle.reset();
    process.by_number = full || process.denied != 0;
  }
  return process;
}

namespace {

// The spool in ".../p<PID>-<SPOOL, hex>/r0-0", with or without kOtherNamespaceSuffix; 0 if the path
// is not a chunk's.
uint64_t spool_of_path(std::string_view path) {
  const size_t file = path.rfind("/r");
  const size_t folder = file == 0 || file == path.npos ? path.npos : path.rfind("/p", file - 1);
  if (folder == path.npos) return 0;
  std::string_view name = path.substr(folder + 2, file - folder - 2);
  const std::string_view suffix = wire::kOtherNamespaceSuffix;
  if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  const size_t dash = name.find('-');
  if (dash == name.npos) return 0;
  return number_in<uint64_t>(name.substr(dash + 1), 16).value_or(0);
}

}  // namespace

std::optional<bool> Liveness::is_mapped(uint64_t spool) {
  if (monotonic_now_ns() - looked_ns_ >= kLookEveryNs) look_at_maps();
  if (mapped_.count(spool) != 0) return true;
  return all_seen_ ? std::optional<bool>(false) : std::nullopt;
}

namespace {

// Whether a process of this number has run since before this moment of CLOCK_MONOTONIC.
bool has_run_since(uint32_t pid, int64_t monotonic_ns) {
  constexpr int kStart = 22;
  const auto stat =
      monitor::parse_stat(monitor::read_text("/proc/" + std::to_string(pid) + "/stat"));
  if (!stat || stat->has_ended()) return false;
  const int64_t start_ns =
      stat->fields[kStart] * (1'000'000'000 / std::max(::sysconf(_SC_CLK_TCK), 1L));
  // It is of CLOCK_BOOTTIME, which ran while the machine slept, perhaps after the process began.
  return start_ns - (clock_ns(CLOCK_BOOTTIME) - monotonic_now_ns()) <= monotonic_ns;
}

}  // namespace

bool Liveness::runs(const Drain::Live& live, bool pids_are_ours) {
  const auto mapped = is_mapped(live.spool);
  if (mapped && *mapped) return true;
  // An exec unmaps the chunks of the image before it, and the process goes on.
  if (!pids_are_ours || live.other_namespace || (mapped && live.has_chunks)) return false;
  const auto named_ns = static_cast<int64_t>(live.spool >> 1);  // when it named its spool
  return has_run_since(live.pid, named_ns);
}

// Searches the mapped files of all processes for chunks.
void Liveness::look_at_maps() {
  mapped_.clear();
  all_seen_ = true;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    std::ifstream file(entry.path() / "maps");
    // A process that has just ended has no maps; another user's are not readable.
    if (!file && std::filesystem::exists(entry.path(), error)) all_seen_ = false;
    for (std::string line; std::getline(file, line);) {
      if (const uint64_t spool = spool_of_path(line); spool != 0) mapped_.insert(spool);
    }
  }
  looked_ns_ = monotonic_now_ns();
}

bool Liveness::has_ended_by_now(uint64_t spool, const TracedProcess& process) {
  if (!process.other_namespace) return has_ended(spool, process);
  if (monotonic_now_ns() - looked_ns_ >= kLookEveryNs / 10) look_at_maps();
  return mapped_.count(spool) == 0;
}

bool Liveness::any_runs(const std::map<uint64_t, TracedProcess>& processes, bool by_now) {
  return std::any_of(processes.begin(), processes.end(), [&](const auto& item) {
    const auto& [spool, process] = item;
    return !(by_now ? has_ended_by_now(spool, process) : has_ended(spool, process));
  });
}

bool Liveness::has_ended(uint64_t spool, const TracedProcess& process) {
  if (process.other_namespace) {
    if (monotonic_now_ns() - looked_ns_ >= kLookEveryNs) look_at_maps();
    // A process maps its chunks soon after making its folder, but not at once.
    if (looked_ns_ < process.seen_ns + kLookEveryNs) return false;
    return all_seen_ && mapped_.count(spool) == 0;
  }
  // A process that reuses the pid is mistaken for it, but has another spool.
  if (process.by_number) return ::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH;
  if (!process.handle.valid()) return true;
  pollfd item = {process.handle.get(), POLLIN, 0};
  return ::poll(&item, 1, 0) > 0;
}

}  // namespace sonde::record
