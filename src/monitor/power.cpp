// Power of the host by its energy counters (RAPL): /sys/class/powercap/*/energy_uj.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/strings.h"
#include "monitor/kept_file.h"
#include "monitor/source.h"

namespace sonde::monitor {

namespace {

class PowerSource : public Source {
 public:
  explicit PowerSource(const Roots& roots) : folder_(roots.sys + "/class/powercap") {}

  void read(Round& round) override {
    if (!looked_) find_zones(round);
    for (Zone& zone : zones_) {
      const auto energy_uj = zone.energy.number();
      if (!energy_uj) {
        round.missing("power", zone.energy.path(), zone.energy.error());
        continue;
      }
      int64_t used_uj = *energy_uj - zone.last_uj;
      if (used_uj < 0) used_uj += zone.range_uj;  // the counter has wrapped
      const int64_t span_ns = round.now_ns - zone.last_ns;
      if (zone.last_ns != 0 && span_ns > 0 && used_uj >= 0) {
        const double watts = 1e3 * static_cast<double>(used_uj) / static_cast<double>(span_ns);
        round.put_over(Id::kPower, zone.number, watts, zone.last_ns);
      }
      zone.last_uj = *energy_uj;
      zone.last_ns = round.now_ns;
    }
  }

 private:
  struct Zone {
    KeptFile energy;
    int64_t number = 0, range_uj = 0;
    int64_t last_uj = 0, last_ns = 0;
  };

  void find_zones(Round& round) {
    looked_ = true;
    std::error_code error;
    std::vector<std::string> folders;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
      std::error_code ignored;
      if (std::filesystem::exists(entry.path() / "energy_uj", ignored)) {
        folders.push_back(entry.path().string());
      }
    }
    if (folders.empty()) {
      return round.missing("power", folder_, "no energy counters, as in most virtual machines");
    }
    std::sort(folders.begin(), folders.end());
    for (const std::string& folder : folders) {
      const std::string range = read_text(folder + "/max_energy_range_uj");
      const std::string name = read_text(folder + "/name");
      const auto number = static_cast<int64_t>(zones_.size());
      zones_.push_back({KeptFile(folder + "/energy_uj"), number, leading_number(range)});
      round.name("rapl", number, trim(name));
    }
  }

  std::string folder_;
  std::vector<Zone> zones_;
  bool looked_ = false;
};

}  // namespace

std::unique_ptr<Source> power_source(const Roots& roots) {
  return std::make_unique<PowerSource>(roots);
}

}  // namespace sonde::monitor
