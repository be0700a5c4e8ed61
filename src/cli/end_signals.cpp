#include "cli/end_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

namespace sonde::cli {
namespace {

sigset_t end_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  return set;
}

void wait(pollfd* wanted, nfds_t count) {
  while (::poll(wanted, count, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace

Result<std::unique_ptr<EndSignals>> EndSignals::catch_them(std::function<void()> end) {
  std::unique_ptr<EndSignals> caught(new EndSignals);
  const sigset_t set = end_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  caught->signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC));
  caught->done_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!caught->signals_.valid() || !caught->done_.valid()) {
    return errno_error("no file descriptor is left", "signals", errno);
  }
  caught->waiting_ = std::thread(
      [signals = caught->signals_.get(), done = caught->done_.get(), end = std::move(end)] {
        pollfd wanted[] = {{done, POLLIN, 0}, {signals, POLLIN, 0}};
        wait(wanted, 2);
        signalfd_siginfo signal = {};
        if (wanted[1].revents == 0 || ::read(signals, &signal, sizeof signal) < 0) return;
        end();
        // A user who does not want to wait sends another signal, which this thread takes.
        const sigset_t both = end_signals();
        ::pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
        wait(wanted, 1);
      });
  return caught;
}

EndSignals::~EndSignals() {
  const uint64_t one = 1;
  if (done_.valid()) (void)!::write(done_.get(), &one, sizeof one);
  if (waiting_.joinable()) waiting_.join();
  // One that came meanwhile is pending: taken, so that it does not end the command after all.
  const sigset_t set = end_signals();
  const timespec at_once = {};
  while (::sigtimedwait(&set, nullptr, &at_once) > 0) {
  }
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace sonde::cli
