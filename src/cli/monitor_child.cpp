#include "cli/monitor_child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"

namespace sonde::cli {

Status MonitorChild::start(int64_t pid, const std::vector<std::string>& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return errno_error("cannot make a pipe", "", errno);
  }
  output_ = UniqueFd(ends[0]);
  const UniqueFd writing(ends[1]);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &mask_);
  std::vector<std::string> words = {"sonde", "record", "--pid", std::to_string(pid)};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int error =
      ::posix_spawn(&child_, "/proc/self/exe", &files, &attributes, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return ok_status();
  child_ = -1;
  return errno_error("cannot be recorded", "process " + std::to_string(pid), error);
}

std::optional<int> MonitorChild::ended() {
  int status = 0;
  if (child_ <= 0 || ::waitpid(child_, &status, WNOHANG) != child_) return std::nullopt;
  child_ = -1;
  return status;
}

void MonitorChild::stop() {
  if (child_ > 0) {
    ::kill(child_, SIGINT);
    ::waitpid(child_, nullptr, 0);
  }
  child_ = -1;
  output_.reset();
}

// What the recorder says is short, so it fits into the pipe.
std::string MonitorChild::last_line() const {
  char text[4096];
  const ssize_t got = ::read(output_.get(), text, sizeof text);
  std::string last;
  for (const auto line :
       split(std::string_view(text, got > 0 ? static_cast<size_t>(got) : 0), '\n')) {
    constexpr std::string_view kOwn = "sonde: ";
    if (!line.empty()) last = line.starts_with(kOwn) ? line.substr(kOwn.size()) : line;
  }
  return last;
}

}  // namespace sonde::cli
