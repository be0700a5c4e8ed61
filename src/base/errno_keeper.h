// ErrnoKeeper: the program's errno survives whatever Sonde's code does in a scope. For the agent
// and the backends, whose functions run between a program's call and its look at errno. libc only.
#pragma once

#include <errno.h>

namespace sonde {

class ErrnoKeeper {
 public:
  ErrnoKeeper() : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

}  // namespace sonde
