// libother_hsa_tool.so: an HSA tool of the user's own (HSA_TOOLS_LIB). Wraps all of the core table,
// as tracers do, and counts; says at its end how many calls it saw of a few functions.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { kQueueCreate = 72 / 8, kQueueDestroy = 88 / 8, kSignalLoad = 328 / 8 };

static int (*next_create)(uint64_t, uint32_t, uint32_t, void*, void*, uint32_t, uint32_t, void**);
static int (*next_destroy)(void*);
static int64_t (*next_load)(uint64_t);
static int created, destroyed;

static int create(uint64_t agent, uint32_t size, uint32_t type, void* callback, void* data,
                  uint32_t private_bytes, uint32_t group_bytes, void** queue) {
  ++created;
  return next_create(agent, size, type, callback, data, private_bytes, group_bytes, queue);
}
static int destroy(void* queue) {
  ++destroyed;
  return next_destroy(queue);
}
static int64_t load(uint64_t signal) { return next_load(signal); }

static void wrap(void** slot, void* function, void* next) {
  memcpy(next, slot, sizeof *slot);
  *slot = function;
}

EXPORT bool OnLoad(void* table, uint64_t version, uint64_t failed, const char* const* names) {
  (void)version, (void)failed, (void)names;
  void** core = ((void***)table)[2];
  created = destroyed = 0;
  wrap(&core[kQueueCreate], (void*)create, &next_create);
  wrap(&core[kQueueDestroy], (void*)destroy, &next_destroy);
  wrap(&core[kSignalLoad], (void*)load, &next_load);
  return true;
}

EXPORT void OnUnload(void) {
  printf("other tool: %d queues, %d destroyed\n", created, destroyed);
  fflush(stdout);
}
