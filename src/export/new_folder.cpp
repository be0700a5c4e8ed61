#include "export/new_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace sonde::exporting {

Result<NewFolder> NewFolder::create(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) return errno_error("cannot create the folder", path, errno);
  return NewFolder(path);
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace sonde::exporting
