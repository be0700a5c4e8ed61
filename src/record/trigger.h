// Snapshots that a recording with --last or --rotate has written of itself (record --trigger): by
// sonde snapshot as a process of its own, one at a time.
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

  // A signal may have come, or a part has ended; `session` is the recording.
  void look(const std::string& session, bool part_ended);
  // A child of the recorder has ended.
  void ended(pid_t child, int wait_status);
  // The recording ends. What is being written needs the answers of the recorder, which `turn`
  // gives.
  void finish(const std::function<void()>& turn);

 private:
  void spawn(const std::string& session, bool if_found);

  const RotationOptions& options_;
  SignalPipe& signals_;
  pid_t child_ = -1;
  bool asked_ = false;    // by the signal
  bool looks_ = false;    // the process looks for the finding
  int64_t quiet_ns_ = 0;  // until then what was found is in what was written
};

}  // namespace sonde::record
