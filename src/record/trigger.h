// Snapshots that a recording with --last or --rotate takes of itself (record --trigger): each by a
// child process that runs sonde snapshot, one at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "record/child.h"
#include "record/options.h"

namespace sonde::record {

class Trigger {
 public:
  Trigger(const RotationOptions& options, SignalPipe& signals);

  // Call after a signal may have come, or a part has ended; `session` is the recording.
  void look(const std::string& session, bool part_ended);
  // A child of the recorder has ended.
  void ended(pid_t child, int wait_status);
  // The recording ends. A snapshot in progress needs the recorder's answers, which `turn` gives.
  void finish(const std::function<void()>& turn);

 private:
  void spawn(const std::string& session, bool if_found);

  const RotationOptions& options_;
  SignalPipe& signals_;
  pid_t child_ = -1;
  bool asked_ = false;    // by a signal
  bool looks_ = false;    // the child checks for the finding first
  int64_t quiet_ns_ = 0;  // until then, a finding is already in the last snapshot
};

}  // namespace sonde::record
