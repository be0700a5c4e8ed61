/* Many threads that live for a few ranges (2,000 of 3 pairs, at most 16 at once), through sonde.h.
 */
#include <pthread.h>

#include "mark_options.h"
#include "sonde/sonde.h"

static struct mark_options g_options;

static void* work(void* argument) {
  char text[64];
  for (long i = 0; i < g_options.pairs; ++i) {
    snprintf(text, sizeof text, "thread %ld range %ld", (long)(intptr_t)argument, i);
    sonde_range_push(text);
    sonde_range_pop();
  }
  sonde_mark("thread ends");
  return NULL;
}

int main(int argc, char** argv) {
  enum { kAtOnce = 16 };
  pthread_t threads[kAtOnce];
  g_options = mark_parse(argc, argv, 2000, 3);
  for (long i = 0; i < g_options.threads; ++i) {
    if (i >= kAtOnce) pthread_join(threads[i % kAtOnce], NULL);
    if (pthread_create(&threads[i % kAtOnce], NULL, work, (void*)(intptr_t)i) != 0) return 2;
  }
  const long alive = g_options.threads < kAtOnce ? g_options.threads : kAtOnce;
  for (long i = 0; i < alive; ++i) pthread_join(threads[i], NULL);
  printf("{\"ranges\":%ld,\"marks\":%ld,\"threads\":%ld}\n", g_options.threads * g_options.pairs,
         g_options.threads, g_options.threads);
  return 0;
}
