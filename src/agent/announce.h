// What the recorder is told of a process: by an announcement as it starts, and in ring 0 of its
// spool.
#pragma once

#include "wire/chunk.h"
#include "wire/records.h"

namespace sonde::agent {

// What the process is, with room for a chunk's header in front of it.
struct Description {
  static constexpr size_t kBytes = 32 * 1024;
  wire::ChunkStatus header;
  wire::ProcessRecord record;
  char text[kBytes - sizeof(wire::ChunkStatus) - sizeof(wire::ProcessRecord)];
};
static_assert(sizeof(Description) == Description::kBytes);

// In memory that is there once: for whoever starts the process' recording.
Description& describe();

// Whether this process' number means nothing to the recorder.
bool in_other_namespace();
// Gives the process image the number that its spool is called by.
void name_spool();
// Tells the recorder of this process, without making anything. False: a spool has to be made.
bool announce_process();

}  // namespace sonde::agent
