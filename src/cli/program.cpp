#include "cli/program.h"

#include "cli/terminal.h"
#include "record/launcher.h"

namespace sonde::cli {

Result<std::string> softgpu_launcher() {
  std::string launcher = record::softgpu_launcher();
  if (!launcher.empty()) return launcher;
  return make_error(ErrorCode::kUnsupported, "this build has no software GPU", "--softgpu",
                    "./dev demo installs what it needs and builds it");
}

Result<int> not_started(const Error& error) {
  if (error.code != ErrorCode::kNotFound && error.code != ErrorCode::kUnsupported) return error;
  print_error_line(error.to_line());
  return error.code == ErrorCode::kNotFound ? 127 : 126;
}

}  // namespace sonde::cli
