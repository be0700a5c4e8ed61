// Loads further libraries of Sonde into a process that is attached to, when it needs them.
#pragma once

#include <dlfcn.h>
#include <limits.h>

#include "base/loaded_function.h"

namespace sonde::late {

// "FOLDER/NAME", where FOLDER contains this library.
bool place_of(const char* name, char (&path)[PATH_MAX]);
// nullptr: it cannot be loaded.
void* load_beside(const char* name);

}  // namespace sonde::late
