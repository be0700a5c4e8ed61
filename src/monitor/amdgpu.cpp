// AMD GPUs by what the amdgpu driver shows in sysfs: gpu_metrics first, which is one read for most
// values, and single files for the rest.
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/strings.h"
#include "monitor/amd_cards.h"
#include "monitor/gpu_metrics.h"
#include "monitor/kept_file.h"
#include "monitor/source.h"

namespace sonde::monitor {

namespace {

namespace fs = std::filesystem;

// A value with its file; read only if gpu_metrics does not have it.
struct FileValue {
  Id id;
  KeptFile file;
  double scale;  // to the metric's unit
};

struct Card {
  int64_t number = 0;
  KeptFile table;
  bool has_table = true;
  std::vector<FileValue> files;
};

class AmdGpuSource : public Source {
 public:
  explicit AmdGpuSource(const Roots& roots) : sys_(roots.sys) {}

  void read(Round& round) override {
    if (!looked_) find_cards(round);
    for (Card& card : cards_) read_card(round, card);
  }

 private:
  void find_cards(Round& round) {
    looked_ = true;
    int error = 0;
    const std::vector<AmdCard> found = find_amd_cards(sys_, error);
    if (error != 0) return round.missing("gpu", sys_ + "/class/drm", error);
    if (found.empty()) return round.missing("gpu", sys_ + "/class/drm", "no AMD GPU is there");
    for (const AmdCard& card : found) add_card(round, card.address, card.device);
  }

  void add_card(Round& round, const std::string& address, const fs::path& device) {
    Card card;
    card.number = static_cast<int64_t>(cards_.size());
    card.table = KeptFile((device / "gpu_metrics").string());
    const auto add = [&](Id id, const fs::path& file, double scale) {
      std::error_code error;
      if (!fs::exists(file, error)) return false;
      card.files.push_back({id, KeptFile(file.string()), scale});
      return true;
    };
    add(Id::kGpuBusy, device / "gpu_busy_percent", 1);
    add(Id::kGpuMemoryBusy, device / "mem_busy_percent", 1);
    add(Id::kGpuMemory, device / "mem_info_vram_used", 1);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(device / "hwmon", error)) {
      const fs::path& hwmon = entry.path();
      // Newer kernels report the current power instead of an average.
      if (!add(Id::kGpuPower, hwmon / "power1_average", 1e-6)) {
        add(Id::kGpuPower, hwmon / "power1_input", 1e-6);
      }
      for (int i = 1; i <= 8; ++i) {
        const std::string prefix = "temp" + std::to_string(i);
        const std::string label = read_text((hwmon / (prefix + "_label")).string());
        const std::string_view place = trim(label);
        const fs::path file = hwmon / (prefix + "_input");
        if (place == "edge") add(Id::kGpuEdge, file, 1e-3);
        if (place == "junction") add(Id::kGpuJunction, file, 1e-3);
        if (place == "mem") add(Id::kGpuMemoryTemperature, file, 1e-3);
      }
      add(Id::kGpuClock, hwmon / "freq1_input", 1e-6);
      add(Id::kGpuMemoryClock, hwmon / "freq2_input", 1e-6);
    }
    round.name("gpu", card.number, address);
    cards_.push_back(std::move(card));
  }

  void read_card(Round& round, Card& card) {
    Selection told;
    if (card.has_table) read_table(round, card, told);
    for (FileValue& each : card.files) {
      if (told.test(static_cast<size_t>(each.id)) || !round.wants(each.id)) continue;
      if (const auto value = each.file.number()) {
        round.put(each.id, card.number, each.scale * static_cast<double>(*value));
      } else {
        round.missing("gpu", each.file.path(), each.file.error());
      }
    }
  }

  void read_table(Round& round, Card& card, Selection& told) {
    const auto bytes = card.table.read();
    if (!bytes) {
      // Old cards do not have it; the files have most values.
      card.has_table = card.table.error() == EBUSY || card.table.error() == EAGAIN;
      if (card.table.error() == EACCES || card.table.error() == EPERM) {
        round.missing("gpu", card.table.path(), card.table.error());
      }
      return;
    }
    const auto read = GpuMetricsTable::read(*bytes);
    if (!read) {
      card.has_table = false;
      return round.missing("gpu", card.table.path(), read.error().message);
    }
    const GpuMetrics values = summary_of(*read);
    const auto put = [&](Id id, std::optional<double> value) {
      if (!value) return;
      told.set(static_cast<size_t>(id));
      round.put(id, card.number, *value);
    };
    put(Id::kGpuBusy, values.busy_percent);
    put(Id::kGpuMemoryBusy, values.mem_busy_percent);
    put(Id::kGpuMedia, values.media_percent);
    put(Id::kGpuPower, values.power_w);
    put(Id::kGpuEdge, values.edge_c);
    put(Id::kGpuJunction, values.junction_c);
    put(Id::kGpuMemoryTemperature, values.memory_c);
    put(Id::kGpuClock, values.sclk_mhz);
    put(Id::kGpuMemoryClock, values.mclk_mhz);
    put(Id::kGpuThrottle, values.throttle);
  }

  std::string sys_;
  std::vector<Card> cards_;
  bool looked_ = false;
};

}  // namespace

std::unique_ptr<Source> amdgpu_source(const Roots& roots) {
  return std::make_unique<AmdGpuSource>(roots);
}

}  // namespace sonde::monitor
