/* Threads that are cancelled while they hold a mutex, compute and mark, and may end only where they
 * say so, after it: a thread that ends before leaves the mutex locked for ever. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "cpu_clock.h"
#include "sonde/sonde.h"

enum { kThreads = 10, kMarks = 100 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int whole;

static void* work(void* number) {
  char text[32];
  pthread_mutex_lock(&mutex);
  while (cpu_ns() < 30000000) {
  }
  for (int i = 0; i < kMarks; ++i) {
    snprintf(text, sizeof text, "%d of %d", i, *(const int*)number);
    sonde_mark(text);
  }
  ++whole;
  pthread_mutex_unlock(&mutex);
  pthread_testcancel();
  return number;
}

int main(void) {
  int cancelled = 0;
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, work, &i);
    usleep(1000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  printf("{\"marks\": %d}\nwhole %d, cancelled %d\n", kThreads * kMarks, whole, cancelled);
  return 0;
}
