/* crowd: a thousand threads with small stacks that work at once, 2 ms each. Prints what they made.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "../programs/cpu_clock.h"

enum { kThreads = 1000, kStack = 65536, kNs = 2000000 };

static atomic_long sum;

static void* work(void* number) {
  do {
    for (volatile int i = 0; i < 20000; ++i) continue;
  } while (cpu_ns() < kNs);
  atomic_fetch_add(&sum, (long)number);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, kStack);
  for (long i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], &small, work, (void*)i) != 0) return 1;
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%ld\n", (long)sum);
  return 0;
}
