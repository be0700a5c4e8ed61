// Which pages of an interpreter exist without asking the kernel: those with the state and most
// frames of the thread that started it, the one that trains a model. A question is a system call.
//
// From 3.11 on, that thread's state is a part of the runtime's static data, which is never
// unmapped. Frames lie in chunks that only their thread adds and frees, and the state names another
// chunk, or none, before the latest is freed.
#pragma once

#include <stdint.h>

#include "backends/cpu/python_layout.h"
#include "backends/cpu/reading.h"

namespace sonde::cpu {

// Called when the interpreter has been found.
void find_runtime();

// Called when the latest frame is known to be that of a Python function: notes whether it lies
// where the layout says that the latest chunk is. Until then no page is known.
void look_for_chunk(const PythonLayout& layout, Reading& memory, uint64_t thread);

// `thread`: the state of the calling thread.
void know_own_pages(const PythonLayout& layout, Reading& memory, uint64_t thread);

// From and to of a function or variable; nothing if that is not known.
StackBounds extent_of(void* symbol);

}  // namespace sonde::cpu
