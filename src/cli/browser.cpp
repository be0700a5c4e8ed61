#include "cli/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/private_file.h"

namespace sonde::cli {
namespace {

std::string folder_of_user() {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] == '/') return value;
  }
  return "/tmp";
}

// With the default mask and actions of signals, and nothing to read; what it says goes to stderr.
int spawn_detached(const char* const* words) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = 0;
  // The words are not changed, whatever the type says.
  const int error =
      ::posix_spawnp(&pid, words[0], &files, &attributes, const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Result<std::unique_ptr<LeadingPage>> LeadingPage::make(const std::string& url) {
  std::unique_ptr<LeadingPage> page(new LeadingPage);
  std::string folder = folder_of_user() + "/sonde-serve-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return errno_error("cannot make a folder", folder, errno);
  }
  page->folder_ = folder;
  page->path_ = folder + "/open.html";
  const UniqueFd file = create_private_file(page->path_, O_WRONLY);
  const std::string text =
      "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
      "<meta http-equiv=\"refresh\" content=\"0; url=" +
      url + "\"><title>Sonde</title><a href=\"" + url + "\">Go on</a>\n";
  if (!file.valid() ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return errno_error("cannot write", page->path_, errno);
  }
  return page;
}

LeadingPage::~LeadingPage() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

Status LeadingPage::open() const {
  const char* const words[] = {"xdg-open", path_.c_str(), nullptr};
  const int error = spawn_detached(words);
  if (error != 0) {
    Error failed = errno_error("cannot be started", words[0], error);
    failed.hint = "it is in Debian's package xdg-utils; or open the URL yourself";
    return failed;
  }
  return ok_status();
}

}  // namespace sonde::cli
