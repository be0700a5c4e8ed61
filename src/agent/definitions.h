// Definitions: strings, functions, clocks, devices and queues, each written once per process with a
// small id that records refer to.
// A definition is kept twice: in private memory (the log, which lookups use and which a forked
// child writes again into its own spool, so that every spool is self-contained) and in ring 0 of
// the spool. Looking a string up takes no lock; adding one does.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/chunk.h"
#include "wire/records.h"

namespace sonde::agent {

struct Text {
  const char* data;
  size_t length;
  uint64_t hash;
};
Text make_text(const char* text, size_t length);
Text make_text(const char* text);  // 0-terminated; nullptr is ""

// The definition of a text that is already interned, or nullptr.
const wire::StringRecord* find_string(const Text& text);
// The text's id, defining it if needed; 0 if the text is empty or could not be defined (counted as
// a drop).
uint32_t intern_text(const Text& text);
uint32_t intern_text(const char* text);
// True if the text should be interned: it was seen not long ago. A text that is seen once (an
// iteration count, say) is cheaper written where it occurs.
bool seen_before(const Text& text);

// Whether there is a spool to define something in. If not, or if the thread is already within the
// agent (`entered` is false), counts a drop.
bool may_define(bool entered);

// Writes a definition; header.type and header.words are filled in by the caller, header.id here.
// Returns the id, or 0.
uint32_t define(wire::RecordHeader* record);
// The same without waiting: also returns 0 if another thread is defining something.
uint32_t try_define(wire::RecordHeader* record);

// Starts ring 0 with this record and then every definition made so far. False: no space; the next
// attempt resumes where this one stopped.
bool begin_definitions(const wire::RecordHeader* process);
bool definitions_have_begun();
// The chunk they are written to; nullptr before the first.
wire::ChunkHeader* definitions_chunk();
// Leaves the time in ring 0: a sign of life that needs no room. Not if another thread is defining
// something. From within the agent only.
void note_alive();
// In a forked child: forgets the parent's ring 0 and keeps the log. The log is known to be `whole`
// if the thread that forked held the lock; otherwise it is checked first.
void reset_definitions_after_fork(bool whole);
bool lock_definitions();
bool try_lock_definitions();  // without waiting
void unlock_definitions();

}  // namespace sonde::agent
