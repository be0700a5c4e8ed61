// The texts that a program registers with an annotation library (domains, strings, counters), each
// with the backend's data for it. Used by the nvtx and itt backends.
//
// Everything lives as long as the process, because any thread may use a handle at any time, and the
// same text always gives the same handle, so that a program that registers in a loop does not grow.
// Adding and finding never lock; without memory the functions return nullptr.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/markers/markers.h"

namespace sonde::markers {

struct Text {
  Text* next;
  void* object;       // the backend's own; set by object_of()
  uint32_t interned;  // the agent's id of the text, if requested
  uint32_t index;     // 1, 2 ... in order of registration, if requested; else 0
  size_t length;
  char text[];
};

constexpr size_t kTextBuckets = 1024;
struct TextSet {
  Text* buckets[kTextBuckets];
  uint32_t count;  // indices assigned so far
};

Text* find_or_add_text(TextSet& set, const char* text, size_t length);

// Also interns the text with the agent, and assigns an index.
Text* find_or_add_interned(TextSet& set, const char* text, const Agent* agent);

void* allocate(size_t size);  // malloc that keeps errno

// The object of a text, created by `make` the first time; if two threads do so at once, one object
// is kept.
template <typename Object, typename Make>
Object* object_of(Text* text, Make make) {
  if (text == nullptr) return nullptr;
  void* known = __atomic_load_n(&text->object, __ATOMIC_ACQUIRE);
  if (known != nullptr) return static_cast<Object*>(known);
  auto* made = static_cast<Object*>(allocate(sizeof(Object)));
  if (made == nullptr) return nullptr;
  make(made);
  if (__atomic_compare_exchange_n(&text->object, &known, static_cast<void*>(made), false,
                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return made;
  }
  __builtin_free(made);
  return static_cast<Object*>(known);
}

}  // namespace sonde::markers
