#include "driver/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "config/config_json.h"
#include "driver/log.h"
#include "driver/real.h"
#include "tree/layout.h"

namespace softgpu {

Environment& Environment::get() {
  static Environment& environment = *new Environment;  // never destroyed: threads outlive main
  return environment;
}

Environment::Environment() {
  const char* tree = std::getenv("SOFTGPU_TREE");
  if (tree == nullptr || tree[0] != '/') return;
  auto config = read_config(tree + std::string(kConfigFile));
  if (!config) {
    // A program must not fail because its session has ended; it sees a machine without a GPU.
    set_log_level(1);
    log(1, "%s: no software GPU for this process", config.error().to_line().c_str());
    return;
  }
  config_ = std::move(*config);
  config_.tree = tree;
  set_log_level(config_.log_level);
  if (!finish_config(config_).ok()) return;
  session_ = new Session(config_.tree + std::string(kSessionFile));
}

void Environment::become_child() {
  if (!active()) return;
  delete session_;  // the lock remains the parent's, which has the descriptor, too
  session_ = new Session(config_.tree + std::string(kSessionFile));
}

TreePath::TreePath(const char* path) : path_(path) {
  bool may_be_machines = false;
  if (path == nullptr || !in_tree(path, may_be_machines)) return;
  const Environment& environment = Environment::get();
  if (!environment.active()) return;
  const std::string& tree = environment.tree();
  const size_t length = std::strlen(path);
  if (tree.size() + length >= sizeof text_) return;
  std::memcpy(text_, tree.data(), tree.size());
  std::memcpy(text_ + tree.size(), path, length + 1);
  if (may_be_machines && REAL(access)(text_, F_OK) != 0) return;
  path_ = text_;
}

namespace {

bool may_be_live(std::string_view name) {
  if (name.starts_with("vram_") || name.starts_with("sdma_")) return true;
  for (std::string_view live : live_files()) {
    if (live.substr(live.rfind('/') + 1) == name) return true;
  }
  return false;
}

// "PID/vram_4147" in the folder of processes.
std::optional<std::string> process_value(std::string_view rest, Environment& environment) {
  const int pid = std::atoi(std::string(rest).c_str());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos || !rest.substr(slash + 1).starts_with("vram_")) return {};
  const int id = std::atoi(std::string(rest.substr(slash + 6)).c_str());
  const auto gpu = gpu_of_id(static_cast<uint32_t>(id), environment.config().gpus.size());
  if (!gpu) return {};
  for (const Session::Process& process : environment.session().processes()) {
    if (process.pid == pid) return std::to_string(process.vram_bytes[*gpu]) + "\n";
  }
  return {};
}

}  // namespace

std::optional<std::string> live_content(const char* path) {
  const char* base = std::strrchr(path, '/');
  if (base == nullptr || !may_be_live(base + 1)) return {};
  Environment& environment = Environment::get();
  if (!environment.active()) return {};
  char resolved[PATH_MAX];
  if (REAL(realpath)(path, resolved) == nullptr) return {};
  std::string_view rest = resolved;
  if (!rest.starts_with(environment.tree())) return {};
  rest.remove_prefix(environment.tree().size());
  if (rest.starts_with(kProcesses)) {
    return process_value(rest.substr(kProcesses.size() + 1), environment);
  }
  for (uint32_t gpu = 0; gpu < environment.config().gpus.size(); ++gpu) {
    const GpuConfig& own = environment.config().gpus[gpu];
    const std::string folder = pci_folder(own) + "/";
    if (!rest.starts_with(folder)) continue;
    std::string name(rest.substr(folder.size()));
    const std::string hwmon = "hwmon/" + hwmon_name(gpu);
    if (name.starts_with(hwmon + "/")) name = "hwmon" + name.substr(hwmon.size());
    const auto live = live_files();
    if (std::find(live.begin(), live.end(), name) == live.end()) return {};
    return live_text(name, own, environment.session().load(gpu));
  }
  return {};
}

void prune_processes() {
  Environment& environment = Environment::get();
  if (!environment.active()) return;
  const std::string folder = environment.tree() + std::string(kProcesses);
  const auto alive = environment.session().processes();
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(folder, error)) {
    const int pid = std::atoi(each.path().filename().c_str());
    if (std::none_of(alive.begin(), alive.end(), [&](const auto& p) { return p.pid == pid; })) {
      std::error_code ignored;  // another process may be faster
      std::filesystem::remove_all(each.path(), ignored);
    }
  }
}

}  // namespace softgpu
