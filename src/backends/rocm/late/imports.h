// Replaces functions of a library that the objects of a process call by name, while they run: each
// object has a word with the function's address (in its GOT), which is overwritten with ours.
// Pointers obtained by dlsym() are not affected.
#pragma once

#include <stddef.h>

namespace sonde::late {

struct Import {
  const char* name;
  void* ours;
  void* theirs;  // address of `name` in the process; nullptr: not there, and nothing is replaced
};

// Whether objects were loaded or unloaded since the last call.
bool objects_changed();
// Binds every object except our own. Called repeatedly, as objects are loaded. Returns how many
// words point to our functions now.
size_t bind(const Import* imports, size_t count);
// Restores the words that point to our functions.
void unbind(const Import* imports, size_t count);

}  // namespace sonde::late
