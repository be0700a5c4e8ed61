// Polls AMD GPUs through sysfs. A suspended GPU is not read, because reading most files would wake
// it, and nothing in /dev is ever opened. Used by Watcher.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "monitor/amd_cards.h"
#include "monitor/source.h"
#include "watch/amd_rates.h"
#include "watch/files.h"
#include "watch/snapshot.h"

namespace sonde::watch {

struct AmdGpu {
  monitor::AmdCard card;
  Gpu fixed;  // constant properties
  std::string hwmon;
  AmdRates rates;
  // Reading the error counts costs the card some work, so they are cached for a while.
  int64_t ecc_read_ns = 0;
  std::vector<BlockErrors> errors;
};

class AmdGpus {
 public:
  explicit AmdGpus(const monitor::Roots& roots) : sys_(roots.sys) {}

  // Adds every GPU to the snapshot, including those that are gone.
  void look(Snapshot& snapshot, bool whole_table);
  const std::vector<AmdGpu>& cards() const { return cards_; }

 private:
  void find(Snapshot& snapshot);
  void add(monitor::AmdCard card);
  void renew(AmdGpu& known, monitor::AmdCard card);
  void forget(AmdGpu& gpu);  // what was kept of its files
  void read(AmdGpu& card, Gpu& gpu, int64_t now_ns, bool whole_table);
  void read_files(AmdGpu& card, Gpu& gpu);
  void read_sensors(const AmdGpu& card, Gpu& gpu);
  void read_table(AmdGpu& card, Gpu& gpu, int64_t now_ns, bool whole_table);
  void read_errors(AmdGpu& card, Gpu& gpu, int64_t now_ns);

  std::string sys_;
  Files files_;
  std::vector<AmdGpu> cards_;
  int64_t found_ns_ = 0;
};

}  // namespace sonde::watch
