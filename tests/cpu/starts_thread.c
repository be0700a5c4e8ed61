/* A library that starts a thread when it is loaded, and waits until it has used 100 ms of CPU time.
 */
#include <pthread.h>
#include <time.h>

static void* work(void* unused) {
  struct timespec used;
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  } while (used.tv_sec == 0 && used.tv_nsec < 100000000);
  return unused;
}

__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  if (pthread_create(&thread, 0, work, 0) == 0) pthread_join(thread, 0);
}
