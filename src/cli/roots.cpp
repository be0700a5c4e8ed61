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

monitor::Roots roots_of(const Arguments& arguments) {
  const monitor::Roots usual;
  return {arguments.value_or("proc-root", usual.proc), arguments.value_or("sys-root", usual.sys)};
}

watch::WatchOptions watch_options(const Arguments& arguments) {
  watch::WatchOptions options{.roots = roots_of(arguments)};
  // A copy of another machine's files says nothing about this one's NVIDIA GPUs.
  if (arguments.value("sys-root")) options.nvml.clear();
  options.nvml = arguments.value_or("nvml", options.nvml);
  return options;
}

}  // namespace sonde::cli
