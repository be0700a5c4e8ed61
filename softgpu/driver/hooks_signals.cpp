// The libc functions that set the action of a signal, of which some are the faults of kernels.
#include <signal.h>

#include "base/next_function.h"
#include "compute/fault.h"
#include "driver/hooks.h"

using namespace softgpu;

namespace {

constinit sonde::NextFunction<int (*)(int, const struct sigaction*, struct sigaction*)>
    next_sigaction{"sigaction"};
constinit sonde::NextFunction<sighandler_t (*)(int, sighandler_t)> next_signal{"signal"};

__attribute__((constructor)) void find_next() { sonde::find_all(next_sigaction, next_signal); }

}  // namespace

EXPORT int sigaction(int number, const struct sigaction* action,
                     struct sigaction* before) noexcept {
  if (keep_action(number, action, before)) return 0;
  const int result = next_sigaction.get()(number, action, before);
  if (result == 0 && before != nullptr) show_own_action(number, *before);
  return result;
}

EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  if (keep_action(number, &action, &before)) return before.sa_handler;
  before.sa_handler = next_signal.get()(number, handler);
  before.sa_flags = SA_SIGINFO;
  show_own_action(number, before);
  return before.sa_handler;
}
