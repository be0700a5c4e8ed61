/* The client side of NVTX version 3's injection, by declarations of our own, so that the backend is
 * tested without CUDA's headers: loads the library that NVTX_INJECTION64_PATH names, hands it the
 * tables, and calls through the pointers that it filled. A function left alone is a no-op, which
 * returns what the real header's no-op returns.
 *
 * Each shared object with NVTX has a client of its own; struct client is one. */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

typedef void (*any_function)(void);

enum { MODULES = 7, MOST_FUNCTIONS = 16 };
/* Functions of each module, with the unused entry 0. */
static const unsigned kFunctions[MODULES] = {0, 16, 9, 15, 7, 16, 7};

struct client {
  any_function function[MODULES][MOST_FUNCTIONS];
  any_function* table[MODULES][MOST_FUNCTIONS + 1];
  int injected;
};

struct attributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const void* message;
};

struct resource {
  uint16_t version, size;
  int32_t type;
  uint64_t id;
  int32_t message_type;
  const void* message;
};

/* The entry point takes a function without context: the client that is being filled. */
static struct client* g_filling;

static int client_table(int module, any_function*** table, unsigned* count) {
  if (module < 1 || module >= MODULES) return 0;
  for (unsigned i = 0; i < kFunctions[module]; ++i) {
    g_filling->table[module][i] = i == 0 ? NULL : &g_filling->function[module][i];
  }
  *table = g_filling->table[module];
  *count = kFunctions[module];
  return 1;
}

static const struct {
  size_t size;
  int (*functions)(int module, any_function*** table, unsigned* count);
} kCallbacks = {sizeof kCallbacks, client_table};

static const void* client_export(uint32_t id) { return id == 1 ? &kCallbacks : NULL; }

static inline void client_inject(struct client* client) {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  memset(client, 0, sizeof *client);
  if (path == NULL) return;
  void* library = dlopen(path, RTLD_LAZY);
  int (*entry)(const void* (*)(uint32_t)) = NULL;
  if (library != NULL) {
    entry =
        (int (*)(const void* (*)(uint32_t)))(uintptr_t)dlsym(library, "InitializeInjectionNvtx2");
  }
  if (entry == NULL) {
    fprintf(stderr, "%s is no injection library\n", path);
    return;
  }
  g_filling = client;
  client->injected = entry(client_export);
  if (!client->injected) memset(client->function, 0, sizeof client->function);
}

#define CLIENT_CALL(client, module, index, none, type, ...) \
  ((client)->function[module][index] == NULL                \
       ? (none)                                             \
       : ((type)(uintptr_t)(client)->function[module][index])(__VA_ARGS__))

#define CLIENT_RUN(client, module, index, type, ...)                     \
  do {                                                                   \
    if ((client)->function[module][index] != NULL)                       \
      ((type)(uintptr_t)(client)->function[module][index])(__VA_ARGS__); \
  } while (0)

#endif
