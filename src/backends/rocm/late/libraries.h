// Loads further libraries of Sonde into a process that is attached to, when it needs them.
#pragma once

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

namespace sonde::late {

// "FOLDER/NAME", where FOLDER contains this library.
bool place_of(const char* name, char (&path)[PATH_MAX]);
// nullptr: it cannot be loaded.
void* load_beside(const char* name);

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  void* symbol = library != nullptr ? dlsym(library, name) : nullptr;
  memcpy(&function, &symbol, sizeof function);
  return symbol != nullptr;
}

}  // namespace sonde::late
