// Keeps pthread_cancel() from ending the program's thread inside ours: it takes effect at system
// calls that the program does not make when it is not recorded, and may leave a lock held.
#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pinned.h"

namespace sonde {

class Uncancelled : Pinned {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Of libc's functions that sleep, each may be where a thread is cancelled.
inline void sleep_uncancelled(const timespec& time) { syscall(SYS_nanosleep, &time, nullptr); }

}  // namespace sonde
