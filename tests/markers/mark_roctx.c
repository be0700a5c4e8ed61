/* Calls ROCTX as a program linked with one of its libraries does, and checks what it returns.
 * ROCTX_SDK: the functions that only librocprofiler-sdk-roctx has, too. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "../programs/expect.h"

void roctxMarkA(const char* text);
int roctxRangePushA(const char* text);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char* text);
void roctxRangeStop(uint64_t id);
#ifdef ROCTX_SDK
int roctxProfilerPause(uint64_t thread);
int roctxProfilerResume(uint64_t thread);
int roctxNameOsThread(const char* name);
int roctxNameHipDevice(const char* name, int device);
int roctxNameHipStream(const char* name, const void* stream);
int roctxNameHsaAgent(const char* name, const void* agent);
int roctxGetThreadId(uint64_t* thread);
#else
uint32_t roctx_version_major(void);
uint32_t roctx_version_minor(void);
#endif

static int basic(void) {
  char text[16] = "outer";
  EXPECT(roctxRangePushA(text) == 0);
  text[0] = 'X';
  EXPECT(roctxRangePushA("inner") == 1);
  roctxMarkA("moment");
  roctxMarkA(NULL);
  EXPECT(roctxRangePop() == 1);
  EXPECT(roctxRangePop() == 0);
  EXPECT(roctxRangePop() == -1);
  EXPECT(roctxRangePop() == -1);
  const uint64_t a = roctxRangeStartA("a");
  const uint64_t b = roctxRangeStartA("b");
  EXPECT(a != 0 && b != 0 && a != b);
  roctxRangeStop(a);
  roctxRangeStop(b);
  return 4;
}

#ifdef ROCTX_SDK
static int sdk(void) {
  uint64_t thread = 0;
  const uint64_t hsa_agent = 0xabc;
  EXPECT(roctxGetThreadId(&thread) == 0 && thread == (uint64_t)gettid());
  EXPECT(roctxNameOsThread("main thread") == 0);
  EXPECT(roctxNameHipDevice("big gpu", 3) == 0);
  EXPECT(roctxNameHipStream("copies", (void*)0x1234) == 0);
  EXPECT(roctxNameHsaAgent("agent", &hsa_agent) == 0);
  EXPECT(roctxProfilerPause(0) == 0);
  EXPECT(roctxProfilerPause(0) == 0);
  roctxMarkA("paused");
  EXPECT(roctxRangePushA("pushed while paused") == 0);
  const uint64_t id = roctxRangeStartA("started while paused");
  EXPECT(id != 0);
  EXPECT(roctxRangePop() == 0);
  EXPECT(roctxProfilerResume(0) == 0);
  roctxRangeStop(id);
  EXPECT(roctxProfilerResume(0) == 0);
  roctxMarkA("resumed");
  return 1;
}
#endif

int main(void) {
  const int ranges = basic();
  int marks = 2;
#ifdef ROCTX_SDK
  marks += sdk();
#else
  EXPECT(roctx_version_major() == 4 && roctx_version_minor() >= 1);
#endif
  printf("{\"ranges\":%d,\"marks\":%d,\"errors\":%d}\n", ranges, marks, g_errors);
  return g_errors != 0;
}
