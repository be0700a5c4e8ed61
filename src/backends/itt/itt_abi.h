// The collector interface of Intel's ITT notify library: what the static part, which programs and
// libraries (TBB, OpenMP, oneDNN ...) link, passes to the collector that INTEL_LIBITTNOTIFY64
// names. Layouts and names only, from the public ittapi sources, versions 3.18 to 3.26; structures
// have only grown at their ends. Used by this folder only.
//
// At its first use, each copy of the static part calls __itt_api_init(its Global, groups). The
// collector walks the list of functions (terminated by a null name) and sets each function pointer;
// functions that it does not implement get null_func: null or, for the functions that create
// domains, strings and counters, the copy's own version. That version keeps lists before
// initialisation, and afterwards, in some copies (oneTBB's), returns the same empty object for
// every name: so a collector has to create these objects itself, and takes over those in the lists.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

namespace sonde::itt {

constexpr unsigned char kMagic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};

// Copies built up to this date have function entries without null_func.
constexpr unsigned long kLastBuildWithoutNull = 20101001;

struct FunctionOld {
  const char* name;
  void** pointer;
  void* init_func;
  int group;
};

struct Function {
  const char* name;
  void** pointer;
  void* init_func;
  void* null_func;
  int group;
};
static_assert(sizeof(FunctionOld) == 32 && sizeof(Function) == 40);

struct Domain {
  volatile int flags;  // 0 = disabled by the program; its own macros test this
  const char* name;
  void* wide_name;
  int extra1;
  void* extra2;
  Domain* next;
};

struct StringHandle {
  const char* text;
  void* wide_text;
  int extra1;
  void* extra2;
  StringHandle* next;
};

struct Counter {
  const char* name;
  void* wide_name;
  const char* domain;
  void* wide_domain;
  int type;  // enum ValueType
};

struct Global {
  unsigned char magic[8];
  unsigned long version_major;
  unsigned long version_minor;
  unsigned long version_build;
  volatile long api_initialized;
  volatile long mutex_initialized;
  volatile long atomic_counter;
  pthread_mutex_t mutex;
  void* library;
  void* error_handler;
  const char** library_path;
  void* functions;  // Function or FunctionOld
  Global* next;
  void* threads;
  Domain* domains;
  StringHandle* strings;
};
static_assert(offsetof(Global, mutex) == 56 && offsetof(Global, functions) == 120 &&
              offsetof(Global, strings) == 152);

struct Id {
  unsigned long long d1, d2, d3;
};

enum ValueType : int {
  kUnknown = 0,
  kU64 = 1,
  kS64 = 2,
  kU32 = 3,
  kS32 = 4,
  kU16 = 5,
  kS16 = 6,
  kFloat = 7,
  kDouble = 8
};

}  // namespace sonde::itt
