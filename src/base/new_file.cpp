#include "base/new_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace sonde {

bool is_stream(const std::string& path) {
  if (path == "-") return true;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

Status require_file_name(const std::string& path) {
  if (!is_stream(path)) return ok_status();
  return make_error(ErrorCode::kInvalidArgument,
                    "is not a regular file; a trace is a database, and needs one", path,
                    "give the name of a file with -o");
}

Error not_created(const std::string& what, const std::string& path, int error_number) {
  Error error = errno_error("cannot create the " + what, path, error_number);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (error_number == ENOENT && !folder.empty()) {
    error.message = "cannot create the " + what + ": there is no folder " + folder;
    error.hint = "make it, or choose another name with -o";
  } else if (error_number == EACCES || error_number == EPERM || error_number == EROFS) {
    error.hint = "choose a place that you may write to with -o";
  } else if (error_number == ENOTDIR) {
    error.message = "cannot create the " + what + ": " + folder + " is not a folder";
    error.hint = "choose another name with -o";
  }
  return error;
}

}  // namespace sonde
