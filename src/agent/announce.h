// How the recorder learns about a process: from an announcement as it starts, and from ring 0 of
// its spool.
#pragma once

#include "wire/chunk.h"
#include "wire/records.h"

namespace sonde::agent {

// The process description, with room for a chunk header in front of it.
struct Description {
  static constexpr size_t kBytes = 32 * 1024;
  wire::ChunkStatus header;
  wire::ProcessRecord record;
  char text[kBytes - sizeof(wire::ChunkStatus) - sizeof(wire::ProcessRecord)];
};
static_assert(sizeof(Description) == Description::kBytes);

// Static memory: only the thread that starts the process' recording may call this.
Description& describe();

// Whether this process' pid means nothing to the recorder.
bool in_other_namespace();
// Gives the process image the number that its spool is named by.
void name_spool();
// Tells the recorder about this process without making a folder. False: a spool has to be made.
bool announce_process();
// At its end: tells when that was, for a recovery; where it has a spool, there.
void tell_end();

}  // namespace sonde::agent
