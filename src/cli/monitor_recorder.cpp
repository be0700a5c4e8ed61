#include "cli/monitor_recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/free_name.h"
#include "base/strings.h"

namespace sonde::cli {

namespace {

constexpr const char* kLength = "10s";

}  // namespace

MonitorRecorder::~MonitorRecorder() {
  if (child_ <= 0) return;
  ::kill(child_, SIGINT);
  ::waitpid(child_, nullptr, 0);
}

std::string MonitorRecorder::start(int64_t pid) {
  if (child_ > 0) return "a recording is at work: " + trace_;
  trace_ = free_name(fmt::format("monitor-{}.rpd", pid));
  if (auto spawned = spawn(pid); !spawned) return spawned.error().to_line();
  return fmt::format("recording process {} for {} into {}", pid, kLength, trace_);
}

Status MonitorRecorder::spawn(int64_t pid) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot make a pipe", "", errno);
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
  const std::string number = std::to_string(pid);
  const char* words[] = {"sonde",      "record", "-q", "--pid",        number.c_str(),
                         "--duration", kLength,  "-o", trace_.c_str(), nullptr};
  const int error = ::posix_spawn(&child_, "/proc/self/exe", &files, &attributes,
                                  const_cast<char**>(words), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return ok_status();
  child_ = -1;
  return errno_error("cannot be recorded", "process " + number, error);
}

// Short: it fits into the pipe.
std::string MonitorRecorder::last_line() {
  char text[4096];
  const ssize_t got = ::read(output_.get(), text, sizeof text);
  std::string last;
  for (const auto line :
       split(std::string_view(text, got > 0 ? static_cast<size_t>(got) : 0), '\n')) {
    if (!line.empty()) last = line;
  }
  return last;
}

std::optional<std::string> MonitorRecorder::result() {
  int status = 0;
  if (child_ <= 0 || ::waitpid(child_, &status, WNOHANG) != child_) return std::nullopt;
  child_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return fmt::format("recorded: sonde check {}", trace_);
  }
  const std::string why = last_line();
  return why.empty() ? "the recording failed" : why;
}

}  // namespace sonde::cli
