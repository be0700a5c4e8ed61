#include "record/memory_limit.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <fstream>

#include "base/strings.h"

namespace sonde::record {

namespace {

std::optional<uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number) return number;  // "max" is not a number
  return std::nullopt;
}

// The number after a name in a file of "NAME: NUMBER" or "NAME NUMBER" lines.
std::optional<uint64_t> read_field(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  for (uint64_t number = 0; file >> word; file.ignore(256, '\n')) {
    if (word == name && file >> number) return number;
  }
  return std::nullopt;
}

void lower(std::optional<uint64_t>& least, std::optional<uint64_t> other) {
  if (other) least = std::min(least.value_or(*other), *other);
}

struct GroupFiles {
  const char *limit, *used, *cache;
};
constexpr GroupFiles kVersion2 = {"/memory.max", "/memory.current", "inactive_file"};
constexpr GroupFiles kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                  "total_inactive_file"};

// What the group and its ancestors may still use. Inactive page cache counts as used, but is
// reclaimed when memory is needed, so it is added.
std::optional<uint64_t> left_in_groups(const std::string& root, std::string path,
                                       const GroupFiles& files) {
  std::optional<uint64_t> least;
  for (;;) {
    const std::string folder = root + path;
    const auto limit = read_number(folder + files.limit);
    const auto used = read_number(folder + files.used);
    if (limit && used) {
      const uint64_t cache = read_field(folder + "/memory.stat", files.cache).value_or(0);
      const uint64_t needed = *used - std::min(*used, cache);
      lower(least, *limit - std::min(*limit, needed));
    }
    if (path.empty()) return least;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

bool is_in_memory(const std::string& folder) {
  struct statfs info {};
  return ::statfs(folder.c_str(), &info) == 0 &&
         (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

std::optional<uint64_t> available_memory(const std::string& proc, const std::string& cgroup) {
  std::optional<uint64_t> least;
  if (const auto kib = read_field(proc + "/meminfo", "MemAvailable:")) least = *kib * 1024;
  std::ifstream groups(proc + "/self/cgroup");
  // "0::/user.slice" or "9:memory:/user.slice"
  for (std::string line; std::getline(groups, line);) {
    const auto parts = split(line, ':');
    if (parts.size() < 3 || parts[2].empty() || parts[2][0] != '/') continue;
    std::string path(parts[2]);
    if (path == "/") path.clear();
    if (parts[1].empty()) lower(least, left_in_groups(cgroup, path, kVersion2));
    const auto controllers = split(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") != controllers.end()) {
      lower(least, left_in_groups(cgroup + "/memory", path, kVersion1));
    }
  }
  return least;
}

}  // namespace sonde::record
