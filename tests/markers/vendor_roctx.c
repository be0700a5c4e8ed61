/* A stand-in for AMD's ROCTX libraries, to link test programs with: libroctx64.so.4, whose symbols
 * have the version ROCTX_4.1, and librocprofiler-sdk-roctx.so.1. It returns what the originals
 * return and says on stderr that it was called, which under Sonde it must not be. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static __thread int t_level;
static uint64_t g_range;
static int g_calls;

static void called(void) { __atomic_add_fetch(&g_calls, 1, __ATOMIC_RELAXED); }

__attribute__((destructor)) static void report(void) {
  if (g_calls != 0) dprintf(2, "vendor roctx called %d times\n", g_calls);
}

void roctxMarkA(const char* text) {
  (void)text;
  called();
}
int roctxRangePushA(const char* text) {
  (void)text;
  called();
  return t_level++;
}
int roctxRangePop(void) {
  called();
  return t_level == 0 ? -1 : --t_level;
}
uint64_t roctxRangeStartA(const char* text) {
  (void)text;
  called();
  return __atomic_add_fetch(&g_range, 1, __ATOMIC_RELAXED);
}
void roctxRangeStop(uint64_t id) {
  (void)id;
  called();
}

#ifdef VENDOR_OLD
uint32_t roctx_version_major(void) { return 4; }
uint32_t roctx_version_minor(void) { return 1; }
#else
#define SUCCEEDS(name, ...) \
  int name(__VA_ARGS__) {   \
    called();               \
    return 0;               \
  }
SUCCEEDS(roctxProfilerPause, uint64_t thread)
SUCCEEDS(roctxProfilerResume, uint64_t thread)
SUCCEEDS(roctxNameOsThread, const char* name)
SUCCEEDS(roctxNameHipDevice, const char* name, int device)
SUCCEEDS(roctxNameHipStream, const char* name, const void* stream)
SUCCEEDS(roctxNameHsaAgent, const char* name, const void* agent)
int roctxGetThreadId(uint64_t* thread) {
  called();
  *thread = (uint64_t)gettid();
  return 0;
}
#endif
