// Whether a signal that the recorder got was sent to its whole process group, so that the command
// has it already and must not get it twice: programs take a second Ctrl-C for impatience. The
// kernel does not tell; so another process of the group, which does nothing but collect signals, is
// asked whether it has one too. It holds no descriptors and ends with the recorder.
#pragma once

#include <sys/types.h>

namespace sonde::record {

class GroupWitness {
 public:
  GroupWitness() = default;
  GroupWitness(GroupWitness&& other) noexcept;
  GroupWitness& operator=(GroupWitness&& other) noexcept;
  ~GroupWitness();

  void start();
  // True if the signal went to the group that `child` belongs to. Forgets it.
  bool shared_with(pid_t child, int signal);

 private:
  void end();
  pid_t pid_ = -1;
};

}  // namespace sonde::record
