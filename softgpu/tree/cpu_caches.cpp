#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree/layout.h"
#include "tree/parts.h"

namespace softgpu {
namespace {

struct Cache {
  const char* level;
  const char* type;
  int size, ways, line;  // sysconf()'s names
  long likely_bytes;     // if the processor tells none
};
constexpr Cache kCaches[] = {
    {"1", "Data", _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC, _SC_LEVEL1_DCACHE_LINESIZE,
     32 << 10},
    {"1", "Instruction", _SC_LEVEL1_ICACHE_SIZE, _SC_LEVEL1_ICACHE_ASSOC,
     _SC_LEVEL1_ICACHE_LINESIZE, 32 << 10},
    {"2", "Unified", _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, _SC_LEVEL2_CACHE_LINESIZE,
     512 << 10},
    {"3", "Unified", _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_ASSOC, _SC_LEVEL3_CACHE_LINESIZE,
     16 << 20},
};

long value_of(int name, long otherwise) {
  const long value = ::sysconf(name);
  return value > 0 ? value : otherwise;
}

long processors() { return std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)); }

// All processors, in the kernel's forms: "0-63", and words of 32 bits, the highest first.
std::string list_of_all() {
  return processors() == 1 ? "0" : "0-" + std::to_string(processors() - 1);
}
std::string map_of_all() {
  const long last = processors() - 1;
  char first[9];
  std::snprintf(first, sizeof first, "%x", ~uint32_t{0} >> (31 - last % 32));
  std::string map = first;
  for (long left = last / 32; left > 0; --left) map += ",ffffffff";
  return map;
}

void write_caches(TreeWriter& tree, const std::string& folder) {
  const std::string map = map_of_all() + "\n", list = list_of_all() + "\n";
  for (size_t i = 0; i < std::size(kCaches); ++i) {
    const Cache& cache = kCaches[i];
    const std::string index = folder + "/index" + std::to_string(i) + "/";
    tree.file(index + "level", std::string(cache.level) + "\n");
    tree.file(index + "type", std::string(cache.type) + "\n");
    tree.file(index + "size",
              std::to_string(value_of(cache.size, cache.likely_bytes) / 1024) + "K\n");
    tree.file(index + "coherency_line_size", std::to_string(value_of(cache.line, 64)) + "\n");
    tree.file(index + "ways_of_associativity", std::to_string(value_of(cache.ways, 8)) + "\n");
    tree.file(index + "physical_line_partition", "1\n");
    tree.file(index + "shared_cpu_map", map);
    tree.file(index + "shared_cpu_list", list);
  }
}

std::vector<std::filesystem::path> folders_of(const std::filesystem::path& folder,
                                              std::string_view prefix) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = each.path().filename();
    if (name.size() > prefix.size() && name.starts_with(prefix) &&
        std::isdigit(static_cast<unsigned char>(name[prefix.size()])) != 0) {
      found.push_back(each.path());
    }
  }
  return found;
}

}  // namespace

void write_cpu_caches(TreeWriter& tree, const std::string& machine) {
  const std::string shared = std::string(kSystem) + "/cpu/cache";
  auto parents = folders_of(machine + "/node", "node");
  parents.emplace_back(machine + "/cpu");
  bool written = false;
  for (const auto& parent : parents) {
    for (const auto& processor : folders_of(parent, "cpu")) {
      std::error_code error;
      if (std::filesystem::exists(processor / "cache", error)) continue;
      if (!std::exchange(written, true)) write_caches(tree, shared);
      // A node's processors are links.
      const std::string place = processor.lexically_relative(machine).string();
      const bool of_node = place.starts_with("node");
      tree.link(std::string(kSystem) + "/" + place + "/cache",
                of_node ? "../../../cpu/cache" : "../cache");
    }
  }
}

}  // namespace softgpu
