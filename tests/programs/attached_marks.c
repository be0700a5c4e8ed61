/* A program that is attached to while it marks by sonde.h, NVTX and ITT: attached_marks. Each of
 * two threads counts its steps in the names of its ranges, "API N-THREAD". NVTX and ITT are parts
 * of a program; what a tool finds of them in its data is declared here as their headers have it. At
 * the end of its standard input it prints "1 interrupted=N wrong=N". */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "itt_copy.h"
#include "sonde/sonde.h"
#include "steps.h"

/* ---- NVTX 3: begins with its state, 2 once its first call has found no tool ---- */

typedef void (*any_function)(void);

static int nvtx_functions(int module, any_function*** functions, unsigned* count);
static void nvtx_set_version(uint32_t version) { expect(version == 3); }
static void nvtx_first_call(void) { expect(0); }

static struct {
  volatile unsigned state;
  struct {
    size_t bytes;
    int (*functions)(int, any_function***, unsigned*);
  } callbacks;
  struct {
    size_t bytes;
    uint32_t version, reserved;
    void (*set)(uint32_t);
  } version;
  any_function core[16];
} g_nvtx = {0, {16, nvtx_functions}, {24, 3, 0, nvtx_set_version}, {nvtx_first_call}};
static any_function g_none[16];

static int nvtx_functions(int module, any_function*** functions, unsigned* count) {
  static any_function* tables[7][17];
  for (unsigned i = 1; i < 16; ++i) tables[module][i] = module == 1 ? &g_nvtx.core[i] : &g_none[i];
  *functions = tables[module];
  *count = 16;
  return 1;
}

static void nvtx_start(void) {
  memset(g_nvtx.core, 0, sizeof g_nvtx.core);
  __atomic_store_n(&g_nvtx.state, 2, __ATOMIC_RELEASE);
}

enum { kPushA = 9, kPop = 11 };
static int nvtx_push(const char* text) {
  int (*push)(const char*) =
      (int (*)(const char*))(uintptr_t)__atomic_load_n(&g_nvtx.core[kPushA], __ATOMIC_ACQUIRE);
  return push != NULL ? push(text) : -2;
}
static int nvtx_pop(void) {
  int (*pop)(void) =
      (int (*)(void))(uintptr_t)__atomic_load_n(&g_nvtx.core[kPop], __ATOMIC_ACQUIRE);
  return pop != NULL ? pop() : -2;
}

/* ---- ITT: the state of a copy of its library, and its functions ---- */

static void itt_first_call(void) { expect(0); }
static void* g_begin = (void*)itt_first_call;
static void* g_task_end = (void*)itt_first_call;
static void* g_create = (void*)itt_first_call;

static struct domain g_domain = {1, "attached", NULL, 0, NULL, NULL};
static struct entry g_entries[] = {
    {"__itt_task_begin", &g_begin, (void*)itt_first_call, NULL, 1},
    {"__itt_task_end", &g_task_end, (void*)itt_first_call, NULL, 1},
    {"__itt_string_handle_create", &g_create, (void*)itt_first_call, NULL, 1},
    {NULL, NULL, NULL, NULL, 0}};
static struct global g_itt = {.magic = ITT_MAGIC,
                              .major = 3,
                              .minor = 25,
                              .build = 20230630,
                              .mutex = PTHREAD_MUTEX_INITIALIZER,
                              .functions = g_entries,
                              .domains = &g_domain};

static void itt_start(void) {
  for (struct entry* each = g_entries; each->name != NULL; ++each) *each->pointer = each->null;
  __atomic_store_n(&g_itt.initialized, 1, __ATOMIC_RELEASE);
}

static int itt_begin(const char* text) {
  const struct itt_id none = {0, 0, 0};
  void* create = __atomic_load_n(&g_create, __ATOMIC_ACQUIRE);
  void* begin = __atomic_load_n(&g_begin, __ATOMIC_ACQUIRE);
  if (create == NULL || begin == NULL) return 0;
  struct string* handle = ((itt_string_handle_create*)(uintptr_t)create)(text);
  expect(handle != NULL && strcmp(handle->text, text) == 0);
  ((itt_task_begin*)(uintptr_t)begin)(&g_domain, none, none, handle);
  return 1;
}
static void itt_end(void) {
  void* end = __atomic_load_n(&g_task_end, __ATOMIC_ACQUIRE);
  if (end != NULL) ((itt_task_end*)(uintptr_t)end)(&g_domain);
}

static void* work(void* number) {
  const unsigned thread = *(const unsigned*)number;
  char text[3][64];
  for (unsigned step = 0; !g_end; ++step) {
    snprintf(text[0], sizeof text[0], "sonde %u-%u", step, thread);
    snprintf(text[1], sizeof text[1], "nvtx %u-%u", step, thread);
    snprintf(text[2], sizeof text[2], "itt %u-%u", step, thread);
    sonde_range_push(text[0]);
    sonde_mark("moment");
    const int level = nvtx_push(text[1]);
    expect(level == -2 || level == 0);
    const int has_begun = itt_begin(text[2]);
    sleep_ms(2);
    if (has_begun) itt_end();
    const int left = level == -2 ? -2 : nvtx_pop();
    expect(left == level);
    sonde_range_pop();
    step_made(thread);
  }
  return NULL;
}

int main(void) {
  sonde_mark("before");
  nvtx_start();
  itt_start();
  run_threads(work);
  return 0;
}
