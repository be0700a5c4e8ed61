// What disks and network interfaces move: /proc/diskstats and /proc/net/dev.
#include <filesystem>
#include <map>

#include "monitor/kept_file.h"
#include "monitor/source.h"

namespace sonde::monitor {

namespace {

constexpr double kSectorBytes = 512;  // of /proc/diskstats, whatever the disk's own are

// Counters of one device that only grow; a value is their growth a second.
class Rates {
 public:
  explicit Rates(const char* device_type) : device_type_(device_type) {}

  struct Device {
    int64_t number = 0, last_ns = 0;
    int64_t last[3] = {};
  };
  Device& device(Round& round, std::string_view name) {
    const auto [found, fresh] = devices_.try_emplace(std::string(name));
    if (fresh) {
      found->second.number = static_cast<int64_t>(devices_.size()) - 1;
      round.name(device_type_, found->second.number, name);
    }
    return found->second;
  }
  static void put(Round& round, Device& device, int counter, Id id, int64_t value, double scale) {
    const int64_t grown = value - device.last[counter];
    const int64_t span_ns = round.now_ns - device.last_ns;
    device.last[counter] = value;
    // A device that was taken away and came back begins at 0 again.
    if (device.last_ns == 0 || span_ns <= 0 || grown < 0) return;
    round.put_over(id, device.number,
                   scale * static_cast<double>(grown) * 1e9 / static_cast<double>(span_ns),
                   device.last_ns);
  }

 private:
  const char* device_type_;
  std::map<std::string, Device> devices_;
};

class DiskSource : public Source {
 public:
  explicit DiskSource(const Roots& roots) : file_(roots.proc + "/diskstats"), sys_(roots.sys) {}

  // " 259 0 nvme0n1 READS MERGED SECTORS MS WRITES MERGED SECTORS MS PENDING BUSY_MS ..."
  void read(Round& round) override {
    const auto text = file_.read();
    if (!text) return round.missing("disk", file_.path(), file_.error());
    for (std::string_view rest = *text; !rest.empty();) {
      std::string_view line = take_line(rest);
      take_word(line);
      take_word(line);
      const std::string_view name = take_word(line);
      if (!is_disk(name)) continue;
      int64_t fields[10] = {};
      for (int64_t& field : fields) field = leading_number(take_word(line));
      auto& device = rates_.device(round, name);
      Rates::put(round, device, 0, Id::kDiskRead, fields[2], kSectorBytes);
      Rates::put(round, device, 1, Id::kDiskWritten, fields[6], kSectorBytes);
      Rates::put(round, device, 2, Id::kDiskBusy, fields[9], 0.1);  // ms a second to percent
      device.last_ns = round.now_ns;
    }
  }

 private:
  // Whole disks: not their partitions, nor what stands on other disks or in memory.
  bool is_disk(std::string_view name) {
    if (name.empty()) return false;
    const auto [known, fresh] = is_disk_.try_emplace(std::string(name));
    if (fresh) {
      std::error_code error;
      const std::string folder = sys_ + "/block/" + known->first;
      known->second = name.substr(0, 4) != "loop" && name.substr(0, 3) != "ram" &&
                      name.substr(0, 4) != "zram" && std::filesystem::exists(folder, error) &&
                      (!std::filesystem::exists(folder + "/slaves", error) ||
                       std::filesystem::is_empty(folder + "/slaves", error));
    }
    return known->second;
  }

  KeptFile file_;
  std::string sys_;
  std::map<std::string, bool> is_disk_;
  Rates rates_{"disk"};
};

class NetworkSource : public Source {
 public:
  explicit NetworkSource(const Roots& roots) : file_(roots.proc + "/net/dev") {}

  // "  eth0: BYTES PACKETS ERRS DROP FIFO FRAME COMPRESSED MULTICAST BYTES ...", after two lines.
  void read(Round& round) override {
    const auto text = file_.read();
    if (!text) return round.missing("network", file_.path(), file_.error());
    for (std::string_view rest = *text; !rest.empty();) {
      std::string_view line = take_line(rest);
      const size_t colon = line.find(':');
      if (colon == line.npos) continue;
      std::string_view front = line.substr(0, colon);
      const std::string_view name = take_word(front);
      line.remove_prefix(colon + 1);
      if (name == "lo" || name.empty()) continue;
      int64_t fields[9] = {};
      for (int64_t& field : fields) field = leading_number(take_word(line));
      auto& device = rates_.device(round, name);
      Rates::put(round, device, 0, Id::kReceived, fields[0], 1);
      Rates::put(round, device, 1, Id::kSent, fields[8], 1);
      device.last_ns = round.now_ns;
    }
  }

 private:
  KeptFile file_;
  Rates rates_{"net"};
};

}  // namespace

std::unique_ptr<Source> disk_source(const Roots& roots) {
  return std::make_unique<DiskSource>(roots);
}
std::unique_ptr<Source> network_source(const Roots& roots) {
  return std::make_unique<NetworkSource>(roots);
}

}  // namespace sonde::monitor
