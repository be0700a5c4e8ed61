#include "record/launcher.h"

#include <filesystem>

namespace sonde::record {

std::string softgpu_launcher() {
  std::error_code error;
  const auto tool = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto launcher = tool.parent_path() / "softgpu";
  return !error && std::filesystem::exists(launcher, error) ? launcher.string() : std::string();
}

bool is_softgpu(const std::string& file) {
  std::error_code error;
  return std::filesystem::equivalent(file, softgpu_launcher(), error);
}

Status share_end(store::Database& database, pid_t launcher, int64_t since_ns,
                 std::string_view how) {
  SONDE_ASSIGN(auto update,
               database.prepare("UPDATE sonde_process SET exit = ?1"
                                " WHERE ppid = ?2 AND start_ns >= ?3 AND exit = 'ended'"));
  update.bind(1, how);
  update.bind(2, int64_t{launcher});
  update.bind(3, since_ns);
  SONDE_TRY(update.step());
  return ok_status();
}

}  // namespace sonde::record
