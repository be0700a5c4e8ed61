/* A program that marks with ROCTX while it is attached to: each of two threads counts its steps in
 * the names of their ranges, "N-THREAD", in a range that is open all the time. What ROCTX answers
 * is checked. At the end of its standard input it prints "1 interrupted=N wrong=N". */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "../programs/steps.h"

void roctxMarkA(const char* message);
int roctxRangePushA(const char* message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char* message);
void roctxRangeStop(uint64_t id);

static volatile int g_end;
static unsigned g_interrupted, g_wrong;

static void expect(int right) {
  if (!right) __atomic_fetch_add(&g_wrong, 1, __ATOMIC_RELAXED);
}

static void* work(void* number) {
  const unsigned thread = *(const unsigned*)number;
  char text[64];
  uint64_t last = 0;
  expect(roctxRangePushA("outer") == 0);
  for (unsigned step = 0; !g_end; ++step) {
    snprintf(text, sizeof text, "%u-%u", step, thread);
    expect(roctxRangePushA(text) == 1);
    const uint64_t id = roctxRangeStartA("of the process");
    expect(id > last);
    last = id;
    roctxMarkA("moment");
    const struct timespec time = {0, 1000000};
    if (nanosleep(&time, NULL) != 0) __atomic_fetch_add(&g_interrupted, 1, __ATOMIC_RELAXED);
    roctxRangeStop(id);
    expect(roctxRangePop() == 1);
    step_made(thread);
  }
  expect(roctxRangePop() == 0);
  expect(roctxRangePop() == -1);
  return NULL;
}

int main(void) {
  unsigned numbers[kThreads] = {0, 1};
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, &numbers[i]);
  puts("ready");
  fflush(stdout);
  answer_input();
  g_end = 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("1 interrupted=%u wrong=%u\n", g_interrupted, g_wrong);
  return 0;
}
