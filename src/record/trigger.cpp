#include "record/trigger.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "base/time.h"

namespace sonde::record {

Trigger::Trigger(const RotationOptions& options, SignalPipe& signals)
    : options_(options), signals_(signals) {
  if (options.trigger_signal != 0) signals.trigger_by(options.trigger_signal);
}

void Trigger::spawn(const std::string& session, bool if_found) {
  const pid_t child = ::fork();
  if (child != 0) {
    child_ = child;
    looks_ = if_found;
    return;
  }
  signals_.restore();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // standard output belongs to the command
  std::vector<const char*> words = {"sonde", "snapshot", "--session", session.c_str()};
  if (if_found) words.insert(words.end(), {"--if-finding", options_.trigger_finding.c_str()});
  words.push_back(nullptr);
  ::execv("/proc/self/exe", const_cast<char**>(words.data()));
  ::_exit(127);
}

void Trigger::look(const std::string& session, bool part_ended) {
  asked_ |= signals_.take_trigger();
  const bool looks =
      part_ended && !options_.trigger_finding.empty() && monotonic_now_ns() >= quiet_ns_;
  if ((!asked_ && !looks) || child_ > 0) return;
  spawn(session, !asked_);
  asked_ = false;
}

void Trigger::ended(pid_t child, int wait_status) {
  if (child != child_) return;
  child_ = -1;
  const bool written = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
  if (!looks_ || !written) return;
  const int64_t kept = options_.last_ns != 0 ? options_.last_ns : options_.every_ns * options_.keep;
  quiet_ns_ = monotonic_now_ns() + kept;
}

void Trigger::finish(const std::function<void()>& turn) {
  constexpr int kPatience = 10'000;  // turns of 1 ms
  for (int i = 0; i < kPatience && child_ > 0; ++i) {
    turn();
    ::usleep(1000);
  }
  if (child_ > 0) ::kill(child_, SIGTERM);
  child_ = -1;
}

}  // namespace sonde::record
