#include "launcher/session_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tree/layout.h"
#include "tree/tree.h"

namespace softgpu {
namespace {

using sonde::errno_error;
using sonde::ErrorCode;
using sonde::make_error;
using sonde::Result;

Result<std::string> attached(const std::string& folder) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(folder, error).string();
  if (error || ::access((path + std::string(kConfigFile)).c_str(), R_OK) != 0) {
    return make_error(ErrorCode::kNotFound, "is not the tree of a software GPU", folder,
                      "softgpu --keep-tree " + folder + " makes one");
  }
  return path;
}

Result<std::string> kept(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0) {
    const int failure = errno;
    if (failure == EEXIST) {
      return make_error(ErrorCode::kInvalidArgument, "is already there", folder,
                        "--keep-tree makes a new folder; --attach uses one");
    }
    return errno_error("cannot make the folder", folder, failure);
  }
  return std::filesystem::canonical(folder).string();
}

// In memory if possible: the tree is hundreds of tiny files.
std::string place_for_tree() {
  if (::access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
  const char* place = std::getenv("TMPDIR");
  return place != nullptr && place[0] == '/' ? place : "/tmp";
}

// AMD's debug agent, or Sonde under that name, requests the waves that stop.
bool is_debugged() {
  const char* tools = std::getenv("HSA_TOOLS_LIB");
  return tools != nullptr && std::strstr(tools, "librocm-debug-agent") != nullptr;
}

Result<std::string> temporary() {
  std::string path = place_for_tree() + "/softgpu.XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return errno_error("cannot make a folder", path, errno);
  return path;
}

}  // namespace

Result<SessionFolder> SessionFolder::make(const Options& options) {
  if (!options.attach.empty()) {
    SONDE_ASSIGN(std::string path, attached(options.attach));
    return SessionFolder(std::move(path), false);
  }
  const bool keep = !options.keep_tree.empty();
  SONDE_ASSIGN(std::string path, keep ? kept(options.keep_tree) : temporary());
  SessionFolder folder(std::move(path), !keep);
  Config config = options.config;
  if (config.waves_path.empty() && is_debugged()) config.waves_path = folder.path() + "/waves";
  SONDE_TRY(write_tree(config, folder.path()));
  return folder;
}

SessionFolder::~SessionFolder() {
  if (!temporary_) return;
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace softgpu
