/* Uses all of NVTX's functions that mean something to a recorder, through a client of our own (see
 * nvtx_client.h). "errors" counts wrong results; without injection the no-ops' results are right.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "expect.h"
#include "nvtx_client.h"

static struct client g_a, g_b;

typedef int (*push_a)(const char*);
typedef int (*push_w)(const wchar_t*);
typedef int (*push_ex)(const struct attributes*);
typedef int (*pop)(void);
typedef int (*domain_push)(void*, const struct attributes*);
typedef int (*domain_pop)(void*);
typedef uint64_t (*start_a)(const char*);
typedef uint64_t (*start_w)(const wchar_t*);
typedef uint64_t (*domain_start)(void*, const struct attributes*);
typedef void (*end)(uint64_t);
typedef void (*domain_end)(void*, uint64_t);
typedef void (*mark_a)(const char*);
typedef void (*mark_w)(const wchar_t*);
typedef void (*mark_ex)(const struct attributes*);
typedef void (*domain_mark)(void*, const struct attributes*);
typedef void (*category_a)(uint32_t, const char*);
typedef void (*domain_category_w)(void*, uint32_t, const wchar_t*);
typedef void* (*create_a)(const char*);
typedef void* (*create_w)(const wchar_t*);
typedef void* (*string_a)(void*, const char*);
typedef void* (*resource_create)(void*, struct resource*);
typedef void (*name_handle)(const void*, const char*);
typedef void (*name_int_w)(int, const wchar_t*);
typedef void (*handle)(void*);
typedef void* (*sync_create)(void*, const void*);

static struct attributes event(uint32_t category, int32_t type, const void* message) {
  struct attributes attributes = {
      3, sizeof attributes, category, 1, 0xff00ff00, 1, 0, 42, type, message};
  return attributes;
}

static int level(int expected) { return g_a.injected ? expected : -2; }

static int core(struct client* c) {
  EXPECT(CLIENT_CALL(c, 1, 11, -2, pop) == level(-1));
  EXPECT(CLIENT_CALL(c, 1, 9, -2, push_a, "outer") == level(0));
  EXPECT(CLIENT_CALL(c, 1, 10, -2, push_w, L"w\u00efde \U0001F600") == level(1));
  const struct attributes named = event(7, 1, "in category");
  CLIENT_RUN(c, 1, 12, category_a, 7, "io");
  EXPECT(CLIENT_CALL(c, 1, 8, -2, push_ex, &named) == level(2));
  EXPECT(CLIENT_CALL(c, 1, 11, -2, pop) == level(2));
  EXPECT(CLIENT_CALL(c, 1, 11, -2, pop) == level(1));
  EXPECT(CLIENT_CALL(c, 1, 11, -2, pop) == level(0));
  CLIENT_RUN(c, 1, 2, mark_a, "moment");
  CLIENT_RUN(c, 1, 2, mark_a, NULL);
  CLIENT_RUN(c, 1, 3, mark_w, L"w\u00efde moment");
  const struct attributes unnamed = event(99, 2, L"unnamed category");
  CLIENT_RUN(c, 1, 1, mark_ex, &unnamed);
  const struct attributes empty = event(0, 0, NULL);
  CLIENT_RUN(c, 1, 1, mark_ex, &empty);
  CLIENT_RUN(c, 1, 1, mark_ex, NULL);
  const uint64_t a = CLIENT_CALL(c, 1, 5, 0, start_a, "started");
  const uint64_t b = CLIENT_CALL(c, 1, 6, 0, start_w, L"started w\u00efde");
  EXPECT(!g_a.injected || (a != 0 && b != 0 && a != b));
  CLIENT_RUN(c, 1, 7, end, a);
  CLIENT_RUN(c, 1, 7, end, b);
  CLIENT_RUN(c, 1, 14, category_a, (uint32_t)gettid(), "nvtx main");
  return 5; /* ranges; and 6 marks */
}

static int domains(struct client* c) {
  void* x = CLIENT_CALL(c, 5, 12, NULL, create_a, "lib.x");
  void* y = CLIENT_CALL(c, 5, 13, NULL, create_w, L"lib.\u00ff");
  EXPECT(!g_a.injected || (x != NULL && y != NULL && x != y));
  EXPECT(CLIENT_CALL(c, 5, 12, NULL, create_a, "lib.x") == x);
  void* string = CLIENT_CALL(c, 5, 10, NULL, string_a, x, "registered");
  CLIENT_RUN(c, 5, 9, domain_category_w, x, 7, L"net");
  const struct attributes in_x = event(7, 3, string);
  const struct attributes in_y = event(7, 1, "plain");
  EXPECT(CLIENT_CALL(c, 5, 4, -2, domain_push, x, &in_x) == level(0));
  EXPECT(CLIENT_CALL(c, 5, 4, -2, domain_push, y, &in_y) == level(0));
  EXPECT(CLIENT_CALL(c, 5, 4, -2, domain_push, x, &in_x) == level(1));
  EXPECT(CLIENT_CALL(c, 5, 5, -2, domain_pop, x) == level(1));
  EXPECT(CLIENT_CALL(c, 5, 5, -2, domain_pop, x) == level(0)); /* y is still open */
  EXPECT(CLIENT_CALL(c, 5, 5, -2, domain_pop, x) == level(-1));
  EXPECT(CLIENT_CALL(c, 5, 5, -2, domain_pop, y) == level(0));
  CLIENT_RUN(c, 5, 1, domain_mark, x, &in_x);
  CLIENT_RUN(c, 5, 1, domain_mark, NULL, &in_y);
  const uint64_t id = CLIENT_CALL(c, 5, 2, 0, domain_start, y, &in_y);
  CLIENT_RUN(c, 5, 3, domain_end, y, id);
  CLIENT_RUN(c, 5, 14, handle, x);
  CLIENT_RUN(c, 5, 4, domain_push, x, &in_x); /* a handle stays good after destroy */
  CLIENT_RUN(c, 5, 5, domain_pop, x);
  return 5; /* ranges; and 2 marks */
}

static void objects(struct client* c) {
  CLIENT_RUN(c, 4, 2, name_int_w, 2, L"gpu tw\u00f6");
  CLIENT_RUN(c, 2, 5, name_handle, (void*)0x55, "compute stream");
  CLIENT_RUN(c, 3, 5, name_handle, (void*)0x66, "queue");
  struct resource thread = {3, sizeof thread, 0x10003, (uint64_t)gettid(), 1, "by resource"};
  struct resource pointer = {3, sizeof pointer, 0x10001, 0x77, 1, "a lock"};
  EXPECT((CLIENT_CALL(c, 5, 6, NULL, resource_create, NULL, &thread) != NULL) == g_a.injected);
  CLIENT_RUN(c, 5, 6, resource_create, NULL, &pointer);
  const struct {
    uint16_t version, size;
    int32_t type;
    const char* text;
  } lock = {3, 16, 1, "my lock"};
  void* sync = CLIENT_CALL(c, 6, 1, NULL, sync_create, NULL, &lock);
  CLIENT_RUN(c, 6, 3, handle, sync);
  CLIENT_RUN(c, 6, 5, handle, sync);
  CLIENT_RUN(c, 6, 6, handle, sync);
  CLIENT_RUN(c, 6, 2, handle, sync); /* 1 range */
}

/* Ranges in a thread of its own, through the other client; levels are the thread's. */
static void* other_thread(void* argument) {
  struct client* c = argument;
  EXPECT(CLIENT_CALL(c, 1, 9, -2, push_a, "other thread") == level(0));
  EXPECT(CLIENT_CALL(c, 1, 11, -2, pop) == level(0));
  return NULL;
}

int main(void) {
  client_inject(&g_a);
  client_inject(&g_b);
  pthread_t thread;
  EXPECT(CLIENT_CALL(&g_a, 1, 9, -2, push_a, "main thread") == level(0));
  if (pthread_create(&thread, NULL, other_thread, &g_b) != 0) return 2;
  pthread_join(thread, NULL);
  EXPECT(CLIENT_CALL(&g_b, 1, 11, -2, pop) == level(0)); /* pushed through the other client */
  errno = 4711;
  int ranges = 3 + core(&g_a) + domains(&g_b);
  objects(&g_a);
  EXPECT(errno == 4711);
  if (!g_a.injected) ranges = 0;
  printf("{\"ranges\":%d,\"marks\":%d,\"metadata\":%d,\"injected\":%d,\"errors\":%d}\n", ranges,
         g_a.injected ? 8 : 0, g_a.injected ? 4 : 0, g_a.injected, g_errors);
  return g_errors != 0;
}
