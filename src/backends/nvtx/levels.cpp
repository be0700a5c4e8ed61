#include "backends/nvtx/levels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/markers/markers.h"
#include "backends/nvtx/nvtx_abi.h"

namespace sonde::nvtx {
namespace {

// A program that exceeds this creates domains without end.
constexpr uint32_t kMaxDomains = 1 << 16;

struct Levels {
  uint32_t capacity;
  int open[];
};

__thread Levels* t_levels;
pthread_key_t g_key;
pthread_once_t g_once = PTHREAD_ONCE_INIT;
bool g_has_key;

// May run before other destructors of the thread: if those still mark, they get a new array, for
// which the C library calls this again.
void forget(void* levels) {
  t_levels = nullptr;
  free(levels);
}

void make_key() { g_has_key = pthread_key_create(&g_key, forget) == 0; }

int* level_of(uint32_t domain) {
  Levels* levels = t_levels;
  if (levels != nullptr && domain < levels->capacity) return &levels->open[domain];
  if (domain >= kMaxDomains) return nullptr;
  const ErrnoKeeper keep;
  pthread_once(&g_once, make_key);
  if (!g_has_key) return nullptr;
  const uint32_t old = levels != nullptr ? levels->capacity : 0;
  uint32_t capacity = old != 0 ? old * 2 : 16;
  while (capacity <= domain) capacity *= 2;
  Levels* grown = static_cast<Levels*>(realloc(levels, sizeof(Levels) + capacity * sizeof(int)));
  if (grown == nullptr) return nullptr;
  memset(grown->open + old, 0, (capacity - old) * sizeof(int));
  grown->capacity = capacity;
  t_levels = grown;
  pthread_setspecific(g_key, grown);
  return &grown->open[domain];
}

}  // namespace

int push_level(uint32_t domain) {
  int* level = level_of(domain);
  return level != nullptr ? (*level)++ : kNoPushPopTracking;
}

int pop_level(uint32_t domain) {
  int* level = level_of(domain);
  if (level == nullptr) return kNoPushPopTracking;
  return *level > 0 ? --*level : -1;
}

}  // namespace sonde::nvtx
