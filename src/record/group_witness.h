// Whether a signal that the recorder received was sent to its whole process group, so that the
// command has it already and must not get it twice: programs treat a second Ctrl-C as impatience.
// The kernel does not say; so another process of the group, which only collects pending signals, is
// checked for it, too. It holds no descriptors and ends with the recorder.
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
  // True if the signal was sent to the group, and `child` is in it. Consumes it.
  bool shared_with(pid_t child, int signal);

 private:
  void end();
  pid_t pid_ = -1;
};

}  // namespace sonde::record
