// A thread of a backend in the traced program: detached, and without signals, which are for the
// program's own threads.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

namespace sonde {

using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

// `create` is pthread_create. False: there is no thread.
inline bool start_helper_thread(CreateThread create, void* (*run)(void*), void* argument,
                                size_t stack_bytes) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = create(&thread, &attributes, run, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace sonde
