/* A program that marks with ROCTX while it is attached to: each of two threads counts its steps in
 * the names of their ranges, "N-THREAD", in a range that is open all the time. What ROCTX answers
 * is checked. At the end of its standard input it prints "1 interrupted=N wrong=N". */
#include <stdint.h>
#include <stdio.h>

#include "../programs/steps.h"

void roctxMarkA(const char* message);
int roctxRangePushA(const char* message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char* message);
void roctxRangeStop(uint64_t id);

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
    sleep_ms(1);
    roctxRangeStop(id);
    expect(roctxRangePop() == 1);
    step_made(thread);
  }
  expect(roctxRangePop() == 0);
  expect(roctxRangePop() == -1);
  return NULL;
}

int main(void) {
  run_threads(work);
  return 0;
}
