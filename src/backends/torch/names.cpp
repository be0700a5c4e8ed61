#include "backends/torch/names.h"

#include <stdlib.h>
#include <string.h>

namespace sonde::torch {

namespace {

struct Name {
  uint32_t id, length;
  char text[];
};

constexpr uint32_t kSlots = 1 << 13;
constexpr uint32_t kProbes = 64;  // a program has some hundreds of operators
const Name* g_names[kSlots];

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

const Name* make_name(const struct sonde_agent* agent, const char* text, size_t length) {
  const uint32_t id = agent->define_function(
      "torch", "cpu_op", text, "{Input Dims:L|Input type:N|Sequence number:d|Fwd thread id:d}");
  if (id == 0) return nullptr;
  auto* name = static_cast<Name*>(malloc(sizeof(Name) + length));
  if (name == nullptr) return nullptr;
  name->id = id;
  name->length = static_cast<uint32_t>(length);
  memcpy(name->text, text, length);
  return name;
}

bool is(const Name* name, const char* text, size_t length) {
  return name->length == length && memcmp(name->text, text, length) == 0;
}

}  // namespace

uint32_t operator_id(const struct sonde_agent* agent, const char* text) {
  const size_t length = strlen(text);
  const auto first = static_cast<uint32_t>(hash_of(text, length));
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    const Name** slot = &g_names[(first + probe) % kSlots];
    const Name* name = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (name == nullptr) {
      const Name* made = make_name(agent, text, length);
      if (made == nullptr) return 0;
      if (__atomic_compare_exchange_n(slot, &name, made, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
        return made->id;
      }
      free(const_cast<Name*>(made));  // another thread was first, perhaps with another name
    }
    if (is(name, text, length)) return name->id;
  }
  return 0;
}

}  // namespace sonde::torch
