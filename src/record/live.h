// Recordings that are at work now, and their switches: what `sonde start`, `stop` and `status` are
// about. A session directory is its user's alone, so nobody else's recordings can be seen or
// switched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/chunk.h"

namespace sonde::record {

struct LiveRecording {
  std::string session, output;
  std::vector<int64_t> processes;  // that run
  bool waits_for_program = false;  // record --no-start: on where a process says so
  wire::Switch position = wire::kOff;
  wire::Asked asked = wire::Asked::kNothing;
};

// The newest first.
std::vector<LiveRecording> live_recordings();

// Those that a word means: a process, the trace's path or its name with or without .rpd. Without
// words the only one there is; with `all` all of them.
Result<std::vector<LiveRecording>> choose_recordings(const std::vector<std::string>& words,
                                                     bool all);

inline wire::Switch position_of(wire::Asked asked) {
  return asked == wire::Asked::kOn ? wire::kOn : wire::kOff;
}
// What a trace says of it.
std::string switched_text(wire::Asked asked);

// Takes effect at once in all threads of all processes.
Status switch_recording(const LiveRecording& recording, wire::Asked asked);

// Ends the current part of a recording that is rotated (--rotate, --last), waits until it is whole,
// and returns the parts that have ended. An error where there is only one file.
Result<std::vector<std::string>> cut_recording(const LiveRecording& recording);

// Puts a mark with the text into the recording, at this moment; as one of a process of its own that
// joins the recording, so it is as safe as any. An error where the recording is switched off.
Status mark_recording(const LiveRecording& recording, const std::string& text);

}  // namespace sonde::record
