// Recordings in progress and their switches: for `sonde start`, `stop` and `status`. A session
// directory is private to its user, so other users' recordings can be neither seen nor switched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/chunk.h"

namespace sonde::record {

struct LiveRecording {
  std::string session, output;
  std::vector<int64_t> processes;  // running ones
  bool waits_for_program = false;  // record --no-start: on in processes that ask for it
  wire::Switch position = wire::kOff;
  wire::Asked asked = wire::Asked::kNothing;
};

// The newest first.
std::vector<LiveRecording> live_recordings();

// The recordings that the words name: a process, the trace's path, or its name with or without
// .rpd. Without words, the only recording; with `all`, all of them.
Result<std::vector<LiveRecording>> choose_recordings(const std::vector<std::string>& words,
                                                     bool all);

inline wire::Switch position_of(wire::Asked asked) {
  return asked == wire::Asked::kOn ? wire::kOn : wire::kOff;
}
// The diagnostic for the trace.
std::string switched_text(wire::Asked asked);

// Takes effect at once in all threads of all processes.
Status switch_recording(const LiveRecording& recording, wire::Asked asked);

// Ends the current part of a rotated recording (--rotate, --last), waits until it is complete, and
// returns the parts that have ended. An error if the recording has a single file.
Result<std::vector<std::string>> cut_recording(const LiveRecording& recording);

// Adds a mark with the text to the recording, at this moment; as a process of its own that joins
// the recording, so it is as safe as any other record. An error if recording is switched off.
Status mark_recording(const LiveRecording& recording, const std::string& text);

}  // namespace sonde::record
