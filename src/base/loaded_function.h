// Finds a function wherever in the process it is loaded: a library that Python loads as part of a
// package is in no global scope, and may have a name of its own ("libamdhip64-1a2b3c4d.so.6", as
// wheels have them) or be part of another. For libraries that are preloaded and stand before it.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

namespace sonde {

namespace loaded {

// The function that the loaded object at `path` defines or sees, unless it is in our own library.
inline void* find_in(const char* path, const char* name, const void* ours) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* symbol = dlsym(library, name);
  dlclose(library);  // others keep it loaded
  Dl_info theirs, own;
  const bool is_ours = symbol != nullptr && dladdr(symbol, &theirs) != 0 &&
                       dladdr(ours, &own) != 0 && theirs.dli_fbase == own.dli_fbase;
  return is_ours ? nullptr : symbol;
}

struct Object {
  int left;           // objects before it
  const char* named;  // with this in its path
  char* path;         // of malloc: stacks may be small
};

inline int copy_path(dl_phdr_info* info, size_t, void* data) {
  auto* object = static_cast<Object*>(data);
  if (strstr(info->dlpi_name, object->named) == nullptr || object->left-- != 0) return 0;
  object->path = strdup(info->dlpi_name);
  return 1;
}

// The path of the n-th loaded object with `named` in its path, to be freed; nullptr: there are no
// more.
inline char* object_path(int n, const char* named) {
  Object object = {n, named, nullptr};
  dl_iterate_phdr(copy_path, &object);
  return object.path;
}

}  // namespace loaded

// The function of this name in a library, or seen by it; false: there is none, or no library.
template <typename Function>
bool find_function(void* library, const char* name, Function& function) {
  void* symbol = library != nullptr ? dlsym(library, name) : nullptr;
  memcpy(&function, &symbol, sizeof function);
  return symbol != nullptr;
}

// `ours` lies in the library that asks. `caller`: an address in the program that may say where to
// look first; a guess, because a tail call hides it.
inline void* find_loaded_function(const char* name, const void* ours,
                                  const void* caller = nullptr) {
  void* symbol = dlsym(RTLD_NEXT, name);
  Dl_info place;
  if (symbol == nullptr && caller != nullptr && dladdr(caller, &place) != 0) {
    symbol = loaded::find_in(place.dli_fname, name, ours);
  }
  for (int i = 0; symbol == nullptr; ++i) {
    char* path = loaded::object_path(i, "");
    if (path == nullptr) break;
    if (path[0] != '\0') symbol = loaded::find_in(path, name, ours);
    free(path);
  }
  return symbol;
}

// A handle of the first loaded object with `named` in its path; nullptr: there is none.
inline void* find_loaded_library(const char* named) {
  char* path = loaded::object_path(0, named);
  if (path == nullptr) return nullptr;
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  free(path);
  return library;
}

}  // namespace sonde
