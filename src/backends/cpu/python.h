// The Python frames of a thread, read in its signal handler from the interpreter's own structures:
// no lock of Python's is needed, because the thread that would change them is the one that was
// interrupted. CPython 3.8 to 3.14; a version that is not known is left alone, which a diagnostic
// says.
//
// Python's frames lie between native ones: each run of the interpreter's loop has some of them, and
// the frame of that loop on the C stack is where they belong.
#pragma once

#include <stdint.h>

#include "backends/cpu/unwind.h"
#include "sonde/backend.h"

namespace sonde::cpu {

struct PythonFrame {
  uint32_t code;    // the agent's number, 0: could not be defined
  uint32_t offset;  // of the instruction, in bytes
};

struct PythonStack {
  // The frames [end of the run before, end) belong to the native frame that holds `place`; 0: to
  // the next frame of the loop's function (Python up to 3.10).
  struct Run {
    uint64_t place;
    uint32_t end;
  };
  uint32_t frame_count = 0, run_count = 0;
  PythonFrame frames[wire::kMaxFrames];
  Run runs[wire::kMaxFrames];
};

// Looks for an interpreter in this process, unless one was found. Not in a signal handler. Without
// an agent nobody is told of one that is not known.
void find_python(const struct sonde_agent* agent);

// Called by `start/sitecustomize.py` from a function of its own: whether that function is found
// where its frame is expected to be. If not, no Python frames are looked for in this process.
// `said` is "LINE:OFFSET", of the function and of an instruction just before the call.
void probe_python(const struct sonde_agent* agent, const char* said);

// In a forked child.
void python_after_fork();

// `in_use`: of the thread's stack, what surely is readable (unwind.h); the rest is asked for.
void walk_python(const struct sonde_agent* agent, const StackBounds& in_use, PythonStack& stack);

// The interpreter's state of the calling thread, 0 if it has none; and the frames of another thread
// that waits, by its state: memory is read by system calls then, because it may go on and end.
uint64_t python_state();
void walk_python_of(const struct sonde_agent* agent, uint64_t state, PythonStack& stack);

// Whether the native frame `index` is the interpreter's loop that the run of Python frames belongs
// to.
bool belongs(const PythonStack::Run& run, const Stack& native, uint32_t index);

}  // namespace sonde::cpu
