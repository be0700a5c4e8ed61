#include "monitor/amd_cards.h"

#include <cstdio>
#include <filesystem>

#include "base/strings.h"
#include "monitor/kept_file.h"

namespace sonde::monitor {

namespace {

namespace fs = std::filesystem;

struct Node {
  std::map<std::string, int64_t, std::less<>> properties;
  int64_t kfd_id = 0;
};

// "domain 0" and "location_id 50432" of a node are the PCI address of a GPU.
std::string address_of(const Node& node) {
  const auto property = [&](const char* name) {
    const auto found = node.properties.find(name);
    return found == node.properties.end() ? 0 : found->second;
  };
  const int64_t domain = property("domain"), location = property("location_id");
  if (location == 0) return {};
  char address[32];
  std::snprintf(address, sizeof address, "%04x:%02x:%02x.%x", static_cast<unsigned>(domain),
                static_cast<unsigned>(location >> 8 & 0xff),
                static_cast<unsigned>(location >> 3 & 0x1f), static_cast<unsigned>(location & 7));
  return address;
}

Node read_node(const fs::path& folder) {
  Node node;
  const std::string text = read_text((folder / "properties").string());
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = take_line(rest);
    const std::string name(take_word(line));
    node.properties[name] = leading_number(take_word(line));
  }
  node.kfd_id = leading_number(read_text((folder / "gpu_id").string()));
  return node;
}

std::map<int64_t, Node> read_nodes(const std::string& sys) {
  std::map<int64_t, Node> nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sys + "/class/kfd/kfd/topology/nodes", error)) {
    const auto number = parse_int(entry.path().filename().string());
    if (number) nodes.emplace(*number, read_node(entry.path()));
  }
  return nodes;
}

}  // namespace

std::vector<AmdCard> find_amd_cards(const std::string& sys, int& error_number) {
  std::map<std::string, AmdCard> found;  // by address
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sys + "/class/drm", error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("card") || !parse_int(name.substr(4))) continue;
    const fs::path device = entry.path() / "device";
    const auto vendor = read_file((device / "vendor").string());
    if (!vendor || trim(*vendor) != "0x1002") continue;
    std::error_code ignored;
    AmdCard card;
    card.address = fs::canonical(device, ignored).filename().string();
    card.device = device.string();
    found[card.address] = std::move(card);
  }
  error_number = error.value();
  std::vector<AmdCard> cards;
  for (auto& [number, node] : read_nodes(sys)) {
    const auto card = found.find(address_of(node));
    if (card == found.end()) continue;
    card->second.node = node.properties;
    card->second.kfd_id = node.kfd_id;
    card->second.kfd_node = number;
    cards.push_back(std::move(card->second));
    found.erase(card);
  }
  for (auto& [address, card] : found) cards.push_back(std::move(card));
  return cards;
}

}  // namespace sonde::monitor
