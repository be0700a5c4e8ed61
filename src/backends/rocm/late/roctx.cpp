#include "backends/rocm/late/roctx.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/late/imports.h"
#include "base/errno_keeper.h"

namespace sonde::late {
namespace {

constexpr uint32_t kStarted = 256;  // open ranges of the process at a time

struct Started {
  uint64_t theirs, ours;
};
Started g_started[kStarted];
uint32_t g_domain;

const char* text_of(const char* message) { return message != nullptr ? message : ""; }

enum Place { kMark, kPush, kPop, kStart, kStop, kPlaces };

template <typename Function>
Function theirs(Place place);

void mark(const char* message) {
  theirs<void (*)(const char*)>(kMark)(message);
  const ErrnoKeeper keep;
  if (rocm::recording()) rocm::agent().mark(g_domain, 0, text_of(message));
}

int push(const char* message) {
  const int level = theirs<int (*)(const char*)>(kPush)(message);
  const ErrnoKeeper keep;
  if (rocm::recording()) rocm::agent().range_push(g_domain, 0, text_of(message));
  return level;
}

int pop() {
  {
    const ErrnoKeeper keep;
    if (rocm::recording()) rocm::agent().range_pop(g_domain);
  }
  return theirs<int (*)()>(kPop)();
}

void remember(uint64_t their_id, uint64_t our_id) {
  for (Started& place : g_started) {
    uint64_t free = 0;
    if (__atomic_compare_exchange_n(&place.ours, &free, our_id, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      __atomic_store_n(&place.theirs, their_id, __ATOMIC_RELEASE);
      return;
    }
  }
}

uint64_t start(const char* message) {
  const uint64_t id = theirs<uint64_t (*)(const char*)>(kStart)(message);
  const ErrnoKeeper keep;
  if (!rocm::recording()) return id;
  const uint64_t ours = rocm::agent().range_start(g_domain, 0, text_of(message));
  if (ours != 0 && id != 0) remember(id, ours);
  return id;
}

void stop(uint64_t id) {
  {
    const ErrnoKeeper keep;
    for (Started& place : g_started) {
      if (id == 0 || __atomic_load_n(&place.theirs, __ATOMIC_ACQUIRE) != id) continue;
      const uint64_t ours = place.ours;
      __atomic_store_n(&place.theirs, 0, __ATOMIC_RELAXED);
      __atomic_store_n(&place.ours, 0, __ATOMIC_RELEASE);
      if (rocm::recording()) rocm::agent().range_stop(ours);
      break;
    }
  }
  theirs<void (*)(uint64_t)>(kStop)(id);
}

Import g_imports[kPlaces] = {
    {"roctxMarkA", reinterpret_cast<void*>(mark), nullptr},
    {"roctxRangePushA", reinterpret_cast<void*>(push), nullptr},
    {"roctxRangePop", reinterpret_cast<void*>(pop), nullptr},
    {"roctxRangeStartA", reinterpret_cast<void*>(start), nullptr},
    {"roctxRangeStop", reinterpret_cast<void*>(stop), nullptr},
};

template <typename Function>
Function theirs(Place place) {
  Function function;
  memcpy(&function, &g_imports[place].theirs, sizeof function);
  return function;
}

void* loaded_library() {
  constexpr const char* kNames[] = {"libroctx64.so.4", "libroctx64.so",
                                    "librocprofiler-sdk-roctx.so.1",
                                    "librocprofiler-sdk-roctx.so.0", "librocprofiler-sdk-roctx.so"};
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  }
  return nullptr;
}

bool find_theirs() {
  if (g_imports[0].theirs != nullptr) return true;
  void* library = loaded_library();
  if (library == nullptr) return false;
  for (Import& import : g_imports) import.theirs = dlsym(library, import.name);
  return true;
}

}  // namespace

const char* begin_roctx() {
  g_domain = rocm::agent().intern("roctx", strlen("roctx"));
  memset(g_started, 0, sizeof g_started);
  if (!find_theirs()) return "";
  return bind(g_imports, kPlaces) != 0 ? nullptr
                                       : "nothing in the program calls it by name (dlsym)";
}

void look_for_roctx() {
  if (find_theirs()) bind(g_imports, kPlaces);
}

void end_roctx() { unbind(g_imports, kPlaces); }

}  // namespace sonde::late
