#include "record/session_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/private_file.h"
#include "base/unique_fd.h"
#include "record/memory_limit.h"
#include "wire/session.h"

namespace sonde::record {

namespace fs = std::filesystem;

Result<std::string> make_session_dir(const Options& options) {
  std::string base = options.spool_folder;
  for (const char* name : {"SONDE_SPOOL_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);
    if (base.empty() && value != nullptr) base = value;
  }
  if (base.empty()) base = "/tmp";
  std::error_code error;
  const fs::path absolute = fs::absolute(base, error);
  std::string path = (absolute / "sonde-XXXXXX").string();  // mkdtemp() fills it in
  if (::mkdtemp(path.data()) == nullptr) {
    Error failure = errno_error("cannot make the session directory", base, errno);
    failure.hint = "choose another place with --spool-dir";
    return failure;
  }
  ::chmod(path.c_str(), 0700);  // mkdtemp() is subject to the umask
  return path;
}

uint64_t session_limit(const Options& options, const std::string& session) {
  constexpr uint64_t kMost = uint64_t{16} << 30;
  constexpr uint64_t kDropDefault = uint64_t{256} << 20;
  constexpr uint64_t kMemoryShare = 4;
  if (options.buffer_limit != 0) return options.buffer_limit;
  uint64_t limit = options.drop_when_full ? kDropDefault : kMost;
  struct statvfs info {};
  // ramfs has no size.
  if (::statvfs(session.c_str(), &info) == 0 && info.f_blocks != 0) {
    limit = std::min(limit, uint64_t{info.f_bavail} * info.f_frsize / 2);
  }
  if (is_in_memory(session)) {
    limit = std::min(limit, available_memory().value_or(kDropDefault) / kMemoryShare);
  }
  return limit;
}

Status write_output_name(const std::string& session, const std::string& output) {
  std::error_code error;
  const std::string path = session + "/output", fresh = path + ".new";
  create_private_file(fresh, O_WRONLY);  // unless it exists already
  std::ofstream file(fresh);
  file << fs::absolute(output, error).string();
  file.close();
  // Atomically: others read it while a recording is rotated.
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0)
    return make_error(ErrorCode::kIo, "cannot write to the session directory", session);
  return ok_status();
}

Result<std::string> read_output_name(const std::string& session) {
  std::ifstream file(session + "/output");
  std::string path((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open()) {
    std::ifstream control(session + "/control");
    control.seekg(sizeof(wire::SessionControl));
    std::getline(control, path, '\0');
  }
  if (path.empty()) {
    return make_error(ErrorCode::kNotFound, "the session does not say where its trace is", session,
                      "name it with -o");
  }
  return path;
}

namespace {

// To the end of the control file, so that one removal removes both.
void copy_output_name(const std::string& session) {
  const auto output = read_output_name(session);
  const UniqueFd control(
      ::open((session + "/control").c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!output || !control.valid()) return;
  static_cast<void>(!::write(control.get(), output->c_str(), output->size() + 1));
}

bool is_ours(const UniqueFd& folder) {
  struct stat info {};
  return ::fstat(folder.get(), &info) == 0 && info.st_uid == ::geteuid();
}

}  // namespace

void remove_session_dir(const std::string& session) {
  std::error_code error;
  const UniqueFd folder(::open(session.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::string opened = fmt::format("/proc/self/fd/{}", folder.get());
  for (const auto& entry : fs::directory_iterator(opened, error)) {
    const auto name = entry.path().filename();
    if (name != "control" && name != "output") fs::remove_all(entry.path(), error);
  }
  if (is_ours(folder)) copy_output_name(opened);  // nobody else puts links there
  fs::remove(opened + "/output", error);
  fs::remove(opened + "/control", error);
  fs::remove_all(session, error);
}

}  // namespace sonde::record
