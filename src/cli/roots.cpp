#include "cli/roots.h"

#include <filesystem>
#include <string>

namespace sonde::cli {

Status check_roots(const Arguments& arguments) {
  for (const char* name : {"sys-root", "proc-root"}) {
    const auto root = arguments.value(name);
    std::error_code error;
    if (!root || std::filesystem::is_directory(*root, error)) continue;
    return make_error(ErrorCode::kNotFound, std::string("no such folder for --") + name, *root,
                      "in a container, mount the host's under this name");
  }
  return ok_status();
}

}  // namespace sonde::cli
