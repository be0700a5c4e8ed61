#include "record/attached.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "base/unique_fd.h"
#include "record/command.h"
#include "record/faults.h"
#include "record/session_dir.h"
#include "wire/session.h"

namespace sonde::record {

namespace {

constexpr int kLookMs = 20;
// Nobody reads this session's records; boards do not count against this limit.
constexpr uint64_t kSpoolBytes = 8 << 20;

// Signals from a terminal are meant for the program; we end when it does.
void ignore_signals() {
  for (const int number : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE, SIGTSTP}) {
    ::signal(number, SIG_IGN);
  }
}

class Watch {
 public:
  Watch(FaultWatch& faults, const Attached& process)
      : faults_(faults),
        asked_(process.asked_fd),
        process_(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0))),
        pid_(process.pid) {}

  void run() {
    while (!is_over()) {
      if (take_asked()) faults_.tell_state(nullptr);
      faults_.look(nullptr);
    }
    faults_.look(nullptr);
  }

 private:
  // Waits for a moment. The pipe also closes at an exec; and a child may keep it open.
  bool is_over() {
    pollfd items[] = {{asked_.get(), POLLIN, 0}, {process_.get(), POLLIN, 0}};
    ::poll(items, process_.valid() ? 2 : 1, kLookMs);
    if (process_.valid() ? items[1].revents != 0 : ::kill(pid_, 0) != 0) return true;
    return (items[0].revents & (POLLHUP | POLLERR)) != 0 && (items[0].revents & POLLIN) == 0;
  }
  bool take_asked() const {
    char bytes[64];
    return ::read(asked_.get(), bytes, sizeof bytes) > 0;
  }

  FaultWatch& faults_;
  UniqueFd asked_, process_;
  pid_t pid_;
};

}  // namespace

std::optional<Attached> parse_attached(const std::string& text) {
  Attached process;
  if (std::sscanf(text.c_str(), "%d:%d:%d", &process.pid, &process.ready_fd, &process.asked_fd) !=
          3 ||
      process.pid <= 0 || process.ready_fd < 0 || process.asked_fd < 0) {
    return std::nullopt;
  }
  return process;
}

Status watch_attached(Options options, const Attached& process) {
  UniqueFd ready(process.ready_fd);
  ignore_signals();
  ::fcntl(process.asked_fd, F_SETFL, O_NONBLOCK);
  options.command = command_of(process.pid);
  if (options.command.empty()) options.command = {fmt::format("process {}", process.pid)};
  SONDE_ASSIGN(const std::string session, make_session_dir(options));
  wire::SessionOptions facts;
  facts.limit_bytes = facts.orphan_bytes = kSpoolBytes;
  facts.clock = wire::best_clock();
  const auto control = wire::Control::create(session, facts);
  auto faults = control ? FaultWatch::open(session, options) : Result<FaultWatch>(control.error());
  if (!faults) {
    remove_session_dir(session);
    return std::move(faults).error();
  }
  const std::string line = session + "\n";
  if (::write(ready.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    ready.reset();
    Watch(*faults, process).run();
  }
  remove_session_dir(session);
  return ok_status();
}

}  // namespace sonde::record
