#include "tree/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/unique_fd.h"

namespace softgpu {

void TreeWriter::fail(std::string what, const std::string& path, int error_number) {
  if (status_) status_ = sonde::errno_error(std::move(what), path, error_number);
}

void TreeWriter::folder(const std::string& path) {
  if (!status_) return;
  std::error_code error;
  std::filesystem::create_directories(root_ + path, error);
  if (error) fail("cannot make the folder", root_ + path, error.value());
}

bool TreeWriter::parent(const std::string& path) {
  std::string name = path.substr(0, path.rfind('/'));
  if (name != last_parent_) {
    folder(name);
    last_parent_ = std::move(name);
  }
  return status_.ok();
}

void TreeWriter::file(const std::string& path, std::string_view text) {
  if (!parent(path)) return;
  const std::string full = root_ + path;
  sonde::UniqueFd fd(::open(full.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return fail("cannot make the file", full, errno);
  const ssize_t written = ::write(fd.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) {
    fail("cannot write the file", full, written < 0 ? errno : ENOSPC);
  }
}

void TreeWriter::link(const std::string& path, const std::string& target) {
  if (!parent(path)) return;
  const std::string full = root_ + path;
  if (::symlink(target.c_str(), full.c_str()) != 0) fail("cannot make the link", full, errno);
}

void TreeWriter::properties(const std::string& path, std::initializer_list<Property> values) {
  std::string text;
  for (const auto& [key, value] : values) {
    text += std::string(key) + " " + std::to_string(value) + "\n";
  }
  file(path, text);
}

}  // namespace softgpu
