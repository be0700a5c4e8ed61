#include "backends/torch/names.h"

#include <stdlib.h>
#include <string.h>

namespace sonde::torch {

namespace {

struct Name {
  uint64_t id;  // the upper half is the recording that it belongs to
  uint32_t length;
  char text[];
};

constexpr uint32_t kSlots = 1 << 13;
constexpr uint32_t kProbes = 64;  // a program has some hundreds of operators
Name* g_names[kSlots];
uint32_t g_recording;

uint64_t hash_of(const char* text, size_t length) {
  uint64_t hash = length;
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, text + i, length - i < 8 ? length - i : 8);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  return hash;
}

uint32_t define(const struct sonde_agent* agent, const char* text) {
  return agent->define_function("torch", "cpu_op", text,
                                "{Input Dims:L|Input type:N|Sequence number:d|Fwd thread id:d}");
}

Name* make_name(const struct sonde_agent* agent, const char* text, size_t length) {
  const uint32_t id = define(agent, text);
  if (id == 0) return nullptr;
  auto* name = static_cast<Name*>(malloc(sizeof(Name) + length));
  if (name == nullptr) return nullptr;
  name->id = in_this_recording(id);
  name->length = static_cast<uint32_t>(length);
  memcpy(name->text, text, length);
  return name;
}

bool is(const Name* name, const char* text, size_t length) {
  return name->length == length && memcmp(name->text, text, length) == 0;
}

// The name's id in this recording; two threads that define it at once may both do so.
uint32_t id_of(const struct sonde_agent* agent, Name* name, const char* text) {
  const uint32_t known = id_in_this_recording(__atomic_load_n(&name->id, __ATOMIC_RELAXED));
  if (known != 0) return known;
  const uint32_t id = define(agent, text);
  if (id != 0) __atomic_store_n(&name->id, in_this_recording(id), __ATOMIC_RELAXED);
  return id;
}

}  // namespace

void begin_recording() { __atomic_add_fetch(&g_recording, 1, __ATOMIC_RELEASE); }
uint32_t this_recording() { return __atomic_load_n(&g_recording, __ATOMIC_RELAXED); }
uint64_t in_this_recording(uint32_t id) { return uint64_t{this_recording()} << 32 | id; }
uint32_t id_in_this_recording(uint64_t id) {
  return id >> 32 == this_recording() ? static_cast<uint32_t>(id) : 0;
}

uint32_t operator_id(const struct sonde_agent* agent, const char* text) {
  const size_t length = strlen(text);
  const auto first = static_cast<uint32_t>(hash_of(text, length));
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    Name** slot = &g_names[(first + probe) % kSlots];
    Name* name = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (name == nullptr) {
      Name* made = make_name(agent, text, length);
      if (made == nullptr) return 0;
      if (__atomic_compare_exchange_n(slot, &name, made, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
        return static_cast<uint32_t>(made->id);
      }
      free(made);  // another thread was first, perhaps with another name
    }
    if (is(name, text, length)) return id_of(agent, name, text);
  }
  return 0;
}

}  // namespace sonde::torch
