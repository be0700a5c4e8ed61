// The libc functions that set the action of a signal, of which some are the faults of kernels.
#include <signal.h>

#include "compute/fault.h"
#include "driver/real.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace softgpu;

EXPORT int sigaction(int number, const struct sigaction* action,
                     struct sigaction* before) noexcept {
  if (keep_action(number, action, before)) return 0;
  return REAL(sigaction)(number, action, before);
}

EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  return keep_action(number, &action, &before) ? before.sa_handler : REAL(signal)(number, handler);
}
