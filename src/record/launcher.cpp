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

}  // namespace sonde::record
