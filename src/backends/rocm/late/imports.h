// Functions of a library that the objects of a process call by name, replaced while they run: each
// object has a word with the function's address (its GOT), into which ours is written. Of functions
// that were found by dlsym() there is no such word.
#pragma once

#include <stddef.h>

namespace sonde::late {

struct Import {
  const char* name;
  void* ours;
  void* theirs;  // what `name` is in the process; nullptr: it has none, and nothing is replaced
};

// Whether objects were loaded or unloaded since this was asked before.
bool objects_changed();
// In every object but the one that ours are in. Again and again: objects are loaded meanwhile.
// Returns how many words have ours now.
size_t bind(const Import* imports, size_t count);
// Puts theirs back where ours are.
void unbind(const Import* imports, size_t count);

}  // namespace sonde::late
