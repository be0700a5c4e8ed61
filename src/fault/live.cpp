#include "fault/live.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace sonde::fault {

namespace {

// Returns an errno if the process does not exist, may not be read, or has not mapped that file.
int cannot_be_read(int64_t pid, const std::string& board_path) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  if (!maps) return errno == ENOENT ? ESRCH : errno;
  // The process may know the folder by another name.
  const std::string name = "/boards/" + std::filesystem::path(board_path).filename().string();
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(name)) return 0;
  }
  return maps.bad() ? EACCES : ESRCH;
}

int64_t read_from(int64_t pid, uint64_t address, void* to, size_t bytes) {
  const iovec local = {to, bytes};
  const iovec remote = {reinterpret_cast<void*>(address), bytes};
  const ssize_t done = ::process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0);
  return done < 0 ? -int64_t{errno} : done;
}

}  // namespace

LiveProcess::LiveProcess(const wire::Board& board, const std::string& board_path)
    : pid_(board.pid), trouble_(cannot_be_read(board.pid, board_path)), path_(board_path) {
  // Even if files in /proc can be read, the kernel may refuse access to the memory.
  uint64_t probe = 0;
  if (trouble_ == 0 && read_from(pid_, 0, &probe, sizeof probe) == -EPERM) trouble_ = EPERM;
}

int64_t LiveProcess::read(uint64_t address, void* to, size_t bytes) const {
  return trouble_ != 0 ? -int64_t{trouble_} : read_from(pid_, address, to, bytes);
}

bool LiveProcess::has_ended(uint64_t number) const {
  const UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  const uint64_t place = (number - 1) % wire::kBoardDispatches;
  wire::BoardEnd end = {};
  const auto at = static_cast<off_t>(offsetof(wire::Board, ends) + place * sizeof end);
  return !file.valid() || ::pread(file.get(), &end, sizeof end, at) != sizeof end ||
         end.number >= number;
}

std::optional<int64_t> LiveProcess::signal_value(uint64_t signal) const {
  constexpr uint64_t kValue = 8;  // offset of the value in an HSA signal
  int64_t value = 0;
  if (read(signal + kValue, &value, sizeof value) != sizeof value) return std::nullopt;
  return value;
}

std::vector<MemoryMap> LiveProcess::maps() const {
  std::vector<MemoryMap> maps;
  if (trouble_ != 0) return maps;
  std::ifstream file(fmt::format("/proc/{}/maps", pid_));
  for (std::string line; std::getline(file, line);) {
    MemoryMap map;
    char permissions[8] = {};
    int path = 0;
    // begin-end permissions offset device inode path
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %*s %*s %*s %n", &map.begin, &map.end, permissions,
                    &path) != 3) {
      continue;
    }
    map.permissions = permissions;
    if (path > 0 && static_cast<size_t>(path) < line.size()) map.path = line.substr(path);
    maps.push_back(std::move(map));
  }
  return maps;
}

std::string LiveProcess::page_text(uint64_t address) const {
  for (const MemoryMap& map : maps()) {
    if (address < map.begin || address >= map.end) continue;
    return fmt::format("mapped by the process as {}, in {}", map.permissions,
                       map.path.empty() ? "anonymous memory" : map.path);
  }
  return "not mapped by the process";
}

}  // namespace sonde::fault
