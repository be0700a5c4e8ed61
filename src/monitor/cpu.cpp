// Use and clock of the host's cores: /proc/stat, and cpufreq or else /proc/cpuinfo.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "monitor/kept_file.h"
#include "monitor/source.h"

namespace sonde::monitor {

namespace {

constexpr size_t kMostClocks = 8;  // for the mean alone: asking a core may wake it

struct Times {
  int64_t idle = 0, all = 0;  // in clock ticks
};

// "  4705 150 1120 16250 520 ...": user nice system idle iowait irq softirq steal. What a guest got
// is in user already.
Times times_of(std::string_view fields) {
  Times times;
  for (int i = 0; i < 8; ++i) {
    const int64_t ticks = leading_number(take_word(fields));
    times.all += ticks;
    if (i == 3 || i == 4) times.idle += ticks;
  }
  return times;
}

class CpuSource : public Source {
 public:
  explicit CpuSource(const Roots& roots)
      : stat_(roots.proc + "/stat"),
        table_(roots.proc + "/cpuinfo"),
        folder_(roots.sys + "/devices/system/cpu") {}

  void read(Round& round) override {
    if (round.wants(Id::kCpuPercent) || round.wants(Id::kCorePercent)) read_use(round);
    if (round.wants(Id::kCpuMhz) || round.wants(Id::kCoreMhz)) read_clocks(round);
    last_ns_ = round.now_ns;
  }

 private:
  void read_use(Round& round) {
    const auto text = stat_.read();
    if (!text) {
      const bool total = round.wants(Id::kCpuPercent);
      return round.missing(total ? "cpu" : "cores", stat_.path(), stat_.error());
    }
    for (std::string_view rest = *text; rest.substr(0, 3) == "cpu";) {
      std::string_view line = take_line(rest);
      const std::string_view name = take_word(line).substr(3);
      const bool total = name.empty();
      if (!round.wants(total ? Id::kCpuPercent : Id::kCorePercent)) {
        if (!total) break;
        continue;
      }
      const int64_t core = total ? -1 : leading_number(name);
      const Times now = times_of(line);
      const auto [last, fresh] = last_.try_emplace(core, now);
      // The kernel corrects its idle times backwards now and then.
      const int64_t all = now.all - last->second.all;
      const int64_t idle =
          std::clamp<int64_t>(now.idle - last->second.idle, 0, std::max(all, int64_t{0}));
      last->second = now;
      if (fresh || all <= 0) continue;
      const double percent = 100.0 * static_cast<double>(all - idle) / static_cast<double>(all);
      round.put_over(total ? Id::kCpuPercent : Id::kCorePercent, std::max<int64_t>(core, 0),
                     percent, last_ns_);
    }
  }

  void read_clocks(Round& round) {
    if (!looked_) find_clocks();
    mhz_.clear();
    if (!clocks_.empty()) {
      ask_cores(round.wants(Id::kCoreMhz));
    } else {
      read_table();
    }
    if (mhz_.empty()) return tell_missing(round);
    double sum = 0;
    for (const auto& [core, mhz] : mhz_) {
      round.put(Id::kCoreMhz, core, mhz);
      sum += mhz;
    }
    round.put(Id::kCpuMhz, 0, sum / static_cast<double>(mhz_.size()));
  }

  void find_clocks() {
    looked_ = true;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
      const std::string name = entry.path().filename().string();
      const auto core = parse_int(std::string_view(name).substr(std::min<size_t>(3, name.size())));
      const auto file = entry.path() / "cpufreq/scaling_cur_freq";
      std::error_code ignored;
      if (name.rfind("cpu", 0) != 0 || !core || !std::filesystem::exists(file, ignored)) continue;
      clocks_.emplace(*core, KeptFile(file.string()));
    }
  }

  void ask_cores(bool all) {
    const size_t step = all ? 1 : (clocks_.size() + kMostClocks - 1) / kMostClocks;
    size_t at = 0;
    for (auto& [core, file] : clocks_) {
      if (at++ % step != 0) continue;
      const auto khz = file.number();
      if (khz) mhz_.emplace_back(core, static_cast<double>(*khz) / 1000);  // else it went offline
    }
  }

  // "processor : 0" and "cpu MHz : 2100.000" of each core, which virtual machines show as well.
  void read_table() {
    const auto text = table_.read();
    if (!text) return;
    int64_t core = 0;
    for (std::string_view rest = *text; !rest.empty();) {
      const std::string_view line = take_line(rest);
      const size_t colon = line.find(':');
      if (colon == line.npos) continue;
      const std::string_view name = trim(line.substr(0, colon));
      const std::string value(trim(line.substr(colon + 1)));
      if (name == "processor") core = leading_number(value);
      const double mhz = name == "cpu MHz" ? std::strtod(value.c_str(), nullptr) : 0;
      if (mhz > 0) mhz_.emplace_back(core, mhz);
    }
  }

  void tell_missing(Round& round) const {
    for (const auto& [id, group] : {std::pair(Id::kCpuMhz, "cpu"), {Id::kCoreMhz, "cores"}}) {
      if (round.wants(id)) {
        round.missing(group, folder_ + "/cpu*/cpufreq",
                      "no clocks are shown, neither there nor in " + table_.path());
      }
    }
  }

  KeptFile stat_, table_;
  std::string folder_;
  std::map<int64_t, Times> last_;
  std::map<int64_t, KeptFile> clocks_;
  std::vector<std::pair<int64_t, double>> mhz_;  // of this round, by core
  bool looked_ = false;
  int64_t last_ns_ = 0;
};

}  // namespace

std::unique_ptr<Source> cpu_source(const Roots& roots) {
  return std::make_unique<CpuSource>(roots);
}

}  // namespace sonde::monitor
