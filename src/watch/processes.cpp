#include "watch/processes.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/strings.h"
#include "monitor/kept_file.h"
#include "monitor/process_text.h"

namespace sonde::watch {

namespace {

namespace fs = std::filesystem;
using monitor::read_file;
using monitor::read_text;

constexpr size_t kCommandBytes = 512;

// Of ProcessStat::fields.
constexpr int kUserTicks = 14, kSystemTicks = 15, kBegun = 22, kRssPages = 24;

std::string name_of(std::string_view stat) {
  const size_t open = stat.find('('), close = stat.rfind(')');
  if (open == stat.npos || close == stat.npos || close < open) return {};
  return std::string(stat.substr(open + 1, close - open - 1));
}

std::string command_of(std::string text) {
  if (text.size() > kCommandBytes) text.resize(kCommandBytes);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::optional<int64_t> number_in(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  return parse_int(trim(*text));
}

}  // namespace

std::string Processes::user_name(int64_t uid) {
  const auto [found, fresh] = users_.try_emplace(uid);
  if (!fresh) return found->second;
  char buffer[4096];
  passwd entry = {};
  passwd* result = nullptr;
  const int error = ::getpwuid_r(static_cast<uid_t>(uid), &entry, buffer, sizeof buffer, &result);
  found->second = error == 0 && result != nullptr ? result->pw_name : std::to_string(uid);
  return found->second;
}

bool Processes::describe(Process& process, int64_t now_ns) {
  const std::string folder = roots_.proc + "/" + std::to_string(process.pid) + "/";
  const std::string text = read_text(folder + "stat");
  const auto stat = monitor::parse_stat(text);
  if (!stat) return false;
  const int64_t cpu_ticks = stat->fields[kUserTicks] + stat->fields[kSystemTicks];
  const auto begun = static_cast<uint64_t>(stat->fields[kBegun]);
  Known& known = known_[process.pid];
  if (known.time_ns == 0 || known.begun != begun) {
    known = {};
    known.begun = begun;
    known.fixed.name = name_of(text);
    known.fixed.command = command_of(read_text(folder + "cmdline"));
    const std::string status = read_text(folder + "status");
    if (const int64_t uid = monitor::number_of(status, "Uid"); uid >= 0) {
      known.fixed.user = user_name(uid);
    }
    const Belongs belongs = belongs_of(read_text(folder + "cgroup"), read_text(folder + "environ"));
    known.fixed.job = belongs.job;
    known.fixed.step = belongs.step;
    known.fixed.rank = belongs.rank;
    known.fixed.container = belongs.container;
  } else if (now_ns > known.time_ns) {
    static const auto kTicks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto used = static_cast<double>(cpu_ticks - known.cpu_ticks);
    process.cpu_percent = 100e9 * used / kTicks / static_cast<double>(now_ns - known.time_ns);
  }
  known.time_ns = now_ns;
  known.cpu_ticks = cpu_ticks;
  static const int64_t kPageBytes = ::sysconf(_SC_PAGESIZE);
  process.rss_bytes = stat->fields[kRssPages] * kPageBytes;
  process.name = known.fixed.name;
  process.command = known.fixed.command;
  process.user = known.fixed.user;
  process.job = known.fixed.job;
  process.step = known.fixed.step;
  process.rank = known.fixed.rank;
  process.container = known.fixed.container;
  return true;
}

void Processes::read_uses(const std::string& folder, const std::vector<AmdGpu>& cards,
                          int64_t now_ns, Process& process) {
  std::map<int64_t, int64_t> queues;  // by KFD's GPU id
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + "/queues", error)) {
    if (const auto id = number_in(entry.path().string() + "/gpuid")) ++queues[*id];
  }
  for (const AmdGpu& card : cards) {
    const std::string id = std::to_string(card.card.kfd_id);
    const auto vram = number_in(folder + "/vram_" + id);
    GpuUse use;
    use.gpu = card.fixed.number;
    use.vram_bytes = vram;
    use.queues = queues[card.card.kfd_id];
    // KFD has these files for every GPU, even those that the process merely opened.
    if (vram.value_or(0) == 0 && use.queues == 0) continue;
    use.cus = number_in(folder + "/stats_" + id + "/cu_occupancy");
    use.evicted_ms = number_in(folder + "/stats_" + id + "/evicted_ms");
    use.sdma_us = number_in(folder + "/sdma_" + id);
    if (use.sdma_us) {
      Known& known = known_[process.pid];
      int64_t& last_us = known.sdma_us[use.gpu];
      int64_t& last_ns = known.sdma_time_ns[use.gpu];
      if (last_ns != 0 && now_ns > last_ns && *use.sdma_us >= last_us) {
        use.sdma_percent = 1e5 * static_cast<double>(*use.sdma_us - last_us) /
                           static_cast<double>(now_ns - last_ns);
      }
      last_us = *use.sdma_us;
      last_ns = now_ns;
    }
    process.gpus.push_back(use);
  }
}

void Processes::look(Snapshot& snapshot, const std::vector<AmdGpu>& cards,
                     const std::vector<ProcessUse>& others) {
  const std::string folder = roots_.sys + "/class/kfd/kfd/proc";
  std::error_code error;
  std::set<int64_t> pids;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto pid = parse_int(entry.path().filename().string());
    if (pid) pids.insert(*pid);
  }
  if (error && !cards.empty()) {
    snapshot.missing.push_back(
        fmt::format("processes on AMD GPUs: {}: {}", folder, error.message()));
  }
  for (const ProcessUse& other : others) pids.insert(other.pid);
  for (const int64_t pid : pids) {
    Process process;
    process.pid = pid;
    const bool described = describe(process, snapshot.time_ns);
    read_uses(folder + "/" + std::to_string(pid), cards, snapshot.time_ns, process);
    for (const ProcessUse& other : others) {
      if (other.pid == pid) process.gpus.push_back(other.use);
    }
    // KFD keeps a process listed until its memory is freed.
    if (!described && process.gpus.empty()) continue;
    snapshot.processes.push_back(std::move(process));
  }
  for (auto item = known_.begin(); item != known_.end();) {
    const auto same = [&](const Process& each) { return each.pid == item->first; };
    const bool there = std::any_of(snapshot.processes.begin(), snapshot.processes.end(), same);
    item = there ? std::next(item) : known_.erase(item);
  }
}

}  // namespace sonde::watch
