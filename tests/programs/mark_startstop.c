/* Ranges that overlap and are stopped by another thread than started them, through sonde.h: each
 * thread starts ranges and stops those of its neighbour, in another order. */
#include <pthread.h>
#include <stdlib.h>

#include "mark_options.h"
#include "sonde/sonde.h"

static struct mark_options g_options;
static uint64_t* g_ids;
static pthread_barrier_t g_barrier;

static void* work(void* argument) {
  const long self = (long)(intptr_t)argument;
  char text[64];
  for (long i = 0; i < g_options.pairs; ++i) {
    snprintf(text, sizeof text, "thread %ld range %ld", self, i);
    g_ids[self * g_options.pairs + i] = sonde_range_start(text);
  }
  pthread_barrier_wait(&g_barrier);
  const long neighbour = (self + 1) % g_options.threads;
  for (long i = 0; i < g_options.pairs; ++i) {
    sonde_range_stop(g_ids[neighbour * g_options.pairs + (i * 7) % g_options.pairs]);
  }
  return NULL;
}

int main(int argc, char** argv) {
  g_options = mark_parse(argc, argv, 4, 100);
  if (g_options.pairs % 7 == 0) ++g_options.pairs; /* so that the order of stops meets each once */
  g_ids = calloc((size_t)(g_options.threads * g_options.pairs), sizeof *g_ids);
  pthread_t* threads = calloc((size_t)g_options.threads, sizeof *threads);
  if (g_ids == NULL || threads == NULL) abort();
  pthread_barrier_init(&g_barrier, NULL, (unsigned)g_options.threads);
  for (long i = 0; i < g_options.threads; ++i) {
    if (pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i) != 0) abort();
  }
  for (long i = 0; i < g_options.threads; ++i) pthread_join(threads[i], NULL);
  printf("{\"ranges\":%ld,\"marks\":0,\"threads\":%ld}\n", g_options.threads * g_options.pairs,
         g_options.threads);
  free(threads);
  free(g_ids);
  return 0;
}
