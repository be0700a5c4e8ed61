/* Ranges as fast as they go, in several threads, through sonde.h. The text is a constant, changes
 * in one reused buffer (of 64 texts), or is different for every range. Prints what it made. */
#include <pthread.h>

#include "cpu_clock.h"
#include "mark_options.h"
#include "sonde/sonde.h"

static struct mark_options g_options;
static volatile uint64_t* g_progress;
static pthread_barrier_t g_barrier;

struct worker {
  pthread_t thread;
  long index;
  uint64_t pairs;
  double cpu_ns;
};

static void* work(void* argument) {
  struct worker* self = argument;
  const int changing = strcmp(g_options.mode, "changing") == 0;
  const int unique = strcmp(g_options.mode, "unique") == 0;
  const int dies = g_options.die != NULL && self->index == 0;
  const uint64_t wanted = g_options.busy ? UINT64_MAX : (uint64_t)g_options.pairs;
  char text[64] = "constant";
  pthread_barrier_wait(&g_barrier);
  const int64_t begin = cpu_ns();
  for (uint64_t i = 0; i < wanted; ++i) {
    if (unique) {
      snprintf(text, sizeof text, "thread %ld range %llu", self->index, (unsigned long long)i);
    } else if (changing) {
      memcpy(text, "step 00", 8);
      text[5] = (char)('0' + (i >> 3) % 8);
      text[6] = (char)('0' + i % 8);
    }
    sonde_range_push(text);
    sonde_range_pop();
    self->pairs = i + 1;
    g_progress[self->index] = i + 1;
    if (dies && self->pairs == (uint64_t)g_options.after) mark_die(g_options.die);
  }
  self->cpu_ns = (double)(cpu_ns() - begin);
  return NULL;
}

int main(int argc, char** argv) {
  g_options = mark_parse(argc, argv, 1, 1000);
  g_progress = mark_progress(&g_options);
  pthread_barrier_init(&g_barrier, NULL, (unsigned)g_options.threads);
  struct worker* workers = calloc((size_t)g_options.threads, sizeof *workers);
  if (workers == NULL) return 2;
  for (long i = 0; i < g_options.threads; ++i) {
    workers[i].index = i;
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) return 2;
  }
  uint64_t ranges = 0;
  double cpu_ns = 0;
  for (long i = 0; i < g_options.threads; ++i) {
    pthread_join(workers[i].thread, NULL);
    ranges += workers[i].pairs;
    cpu_ns += workers[i].cpu_ns;
  }
  printf("{\"ranges\":%llu,\"marks\":0,\"threads\":%ld,\"cpu_ns_per_pair\":%.1f}\n",
         (unsigned long long)ranges, g_options.threads,
         ranges != 0 ? cpu_ns / (double)ranges : 0.0);
  free(workers);
  return 0;
}
