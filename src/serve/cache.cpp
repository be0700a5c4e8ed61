#include "serve/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace sonde::serve {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = uintmax_t{16} << 30;
constexpr const char* kEnding = ".index";

bool is_own_folder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

struct Kept {
  fs::path path;
  fs::file_time_type used;
  uintmax_t bytes = 0;
};

void remove_oldest(const std::string& folder, const fs::path& but) {
  std::error_code error;
  std::vector<Kept> all;
  uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != kEnding) continue;
    Kept kept{entry.path(), entry.last_write_time(error), entry.file_size(error)};
    if (error) continue;
    bytes += kept.bytes;
    all.push_back(std::move(kept));
  }
  std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& kept : all) {
    if (bytes <= kMostBytes) return;
    if (kept.path == but) continue;
    if (fs::remove(kept.path, error)) bytes -= kept.bytes;
  }
}

}  // namespace

IndexCache::IndexCache(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  ::mkdir(folder.c_str(), 0700);
  if (is_own_folder(folder)) folder_ = folder;
}

// By the path, so that a trace has one index at most; whether it is right its key says.
std::string IndexCache::name_of(const std::string& trace_path) const {
  std::error_code error;
  const std::string path = fs::weakly_canonical(trace_path, error).string();
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : error ? trace_path : path) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return fmt::format("{}/{:016x}{}", folder_, hash, kEnding);
}

Result<timeline::Index> IndexCache::find(const std::string& trace_path,
                                         const timeline::FileKey& key) const {
  const std::string name = folder_.empty() ? "" : name_of(trace_path);
  const UniqueFd fd(name.empty() ? -1 : ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return make_error(ErrorCode::kNotFound, "has no index", trace_path);
  SONDE_ASSIGN(timeline::Index index, timeline::load_index(fd.get(), name, key));
  ::futimens(fd.get(), nullptr);  // it is used
  return index;
}

void IndexCache::keep(int fd, const std::string& trace_path) const {
  if (folder_.empty() || ::fdatasync(fd) != 0) return;
  const std::string name = name_of(trace_path);
  const std::string made = fmt::format("{}.{}", name, ::getpid());
  const std::string self = fmt::format("/proc/self/fd/{}", fd);
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, made.c_str(), AT_SYMLINK_FOLLOW) != 0) return;
  if (::rename(made.c_str(), name.c_str()) != 0) ::unlink(made.c_str());
  remove_oldest(folder_, name);
}

}  // namespace sonde::serve
