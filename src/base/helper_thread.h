// A backend's thread in the traced program: detached, not sampled, and with all signals blocked,
// because signals are for the program's own threads.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

// The pthread_create() that the sampling backend's wrapper calls, if that backend is loaded.
extern "C" __attribute__((weak)) int sonde_create_thread(pthread_t* thread,
                                                         const pthread_attr_t* attributes,
                                                         void* (*function)(void*), void* argument);

namespace sonde {

// False: no thread could be started.
inline bool start_helper_thread(void* (*run)(void*), void* argument, size_t stack_bytes) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const auto create = sonde_create_thread != nullptr ? sonde_create_thread : pthread_create;
  const bool started = create(&thread, &attributes, run, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace sonde
