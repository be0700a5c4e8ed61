#include "base/temporary_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace sonde {

Result<TemporaryDirectory> TemporaryDirectory::create() {
  int error = ENOENT;
  for (const char* parent : {static_cast<const char*>(std::getenv("TMPDIR")), "/var/tmp", "/tmp"}) {
    if (parent == nullptr || *parent == '\0') continue;
    std::string path = std::string(parent) + "/sonde.XXXXXX";
    if (::mkdtemp(path.data()) != nullptr) {
      ::chmod(path.c_str(), 0700);  // mkdtemp() is subject to the umask
      return TemporaryDirectory(std::move(path));
    }
    error = errno;
  }
  return errno_error("cannot make a temporary directory", "TMPDIR", error);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace sonde
