#include "export/output/new_folder.h"

#include <cerrno>
#include <filesystem>

#include "base/new_file.h"
#include "base/private_file.h"

namespace sonde::exporting {

Result<NewFolder> NewFolder::create(const std::string& path) {
  if (!create_private_folder(path)) return not_created("folder", path, errno);
  return NewFolder(path);
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace sonde::exporting
