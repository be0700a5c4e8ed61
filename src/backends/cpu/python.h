// Reads the Python frames of a thread in its signal handler, from the interpreter's own structures:
// this needs no lock of Python's, because the thread that would change them is the interrupted one.
// CPython 3.8 to 3.14; an unknown version is left alone, with a diagnostic.
//
// Python frames lie between native ones: each run of the interpreter loop executes some of them,
// and they belong at the C stack frame of that loop.
#pragma once

#include <stdint.h>

#include "backends/cpu/unwind.h"
#include "sonde/backend.h"

namespace sonde::cpu {

struct PythonFrame {
  uint32_t code;    // the agent's id, 0: could not be defined
  uint32_t offset;  // of the instruction, in bytes
};

struct PythonStack {
  // The frames [end of the previous run, end) belong to the native frame that contains `place`; 0:
  // to the next frame of the loop's function (Python up to 3.10).
  struct Run {
    uint64_t place;
    uint32_t end;
  };
  uint32_t frame_count = 0, run_count = 0;
  PythonFrame frames[wire::kMaxFrames];
  Run runs[wire::kMaxFrames];
};

// Looks for an interpreter in this process, unless one was found. Not in a signal handler. Without
// an agent, an unknown version is not reported.
void find_python(const struct sonde_agent* agent);

// Called by `start/sitecustomize.py` from a function of its own: checks that the walk finds that
// function where its frame is expected. If not, no Python frames are read in this process. `said`
// is "LINE:OFFSET": the line of the function, and the offset of an instruction just before the
// call.
void probe_python(const struct sonde_agent* agent, const char* said);

// For a forked child.
void python_after_fork();

// `in_use`: the part of the thread's stack that is known to be readable (unwind.h); other memory is
// checked first.
void walk_python(const struct sonde_agent* agent, const StackBounds& in_use, PythonStack& stack);

// The calling thread's interpreter state, 0 if it has none; and the frames of another, blocked
// thread, given its state: its memory is read by system calls, because it may continue and end.
uint64_t python_state();
void walk_python_of(const struct sonde_agent* agent, uint64_t state, PythonStack& stack);

// Whether native frame `index` is the interpreter loop that the run of Python frames belongs to.
bool belongs(const PythonStack::Run& run, const Stack& native, uint32_t index);

}  // namespace sonde::cpu
