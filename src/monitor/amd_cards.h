// AMD GPUs as sysfs shows them, in the order of the ROCm runtimes, which is that of KFD's nodes.
// Nothing is opened that would wake a card.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sonde::monitor {

struct AmdCard {
  std::string address;  // "0000:c1:00.0"
  std::string device;   // its folder: "/sys/class/drm/card1/device"
  // Its node in KFD's topology; empty if KFD does not know the card.
  std::map<std::string, int64_t, std::less<>> node;
  int64_t kfd_id = 0;  // by which KFD's processes name it
  int64_t kfd_node = -1;
};

// `error` is of the folder of all cards.
std::vector<AmdCard> find_amd_cards(const std::string& sys, int& error);

}  // namespace sonde::monitor
