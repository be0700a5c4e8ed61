/* Launches and operations as a backend reports them, each with its number, in several threads,
 * until it is told to stop: op_storm PROGRESS THREADS [fast]
 *
 * PROGRESS holds uint64 words: for each thread how many operations it has seen end, then the pid,
 * and then a word that the tester makes 1 to end the program. Without `fast` a thread rests between
 * bursts, so that a test has less to read. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sonde/backend.h"

enum { kMostThreads = 16, kBurst = 32 };

static const struct sonde_agent* g_agent;
static volatile uint64_t* g_progress;
static long g_threads;
static int g_fast;

static void* work(void* argument) {
  const long index = (long)argument;
  char name[32];
  snprintf(name, sizeof name, "of thread %ld", index);
  const uint32_t function = g_agent->define_function("storm", "", "launch", "n:u");
  const uint32_t text = g_agent->intern(name, strlen(name));
  for (uint64_t i = 0; g_progress[g_threads + 1] == 0; ++i) {
    const uint64_t begin = g_agent->ticks();
    const struct sonde_call call = g_agent->call_begin(function, SONDE_CALL_LAUNCHES);
    g_agent->call_end(&call, 0, &i, 1);
    struct sonde_op op;
    memset(&op, 0, sizeof op);
    op.kind = SONDE_OP_COPY_H2D;
    op.name = text;
    op.clock = SONDE_CLOCK_TICKS;
    op.correlation = call.correlation;
    op.start = begin;
    op.end = g_agent->ticks();
    op.bytes = i + 1;
    g_agent->op(&op);
    g_progress[index] = i + 1;
    if (!g_fast && i % kBurst == kBurst - 1) {
      const struct timespec pause = {0, 1000000};
      nanosleep(&pause, NULL);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  g_threads = argc > 2 ? atol(argv[2]) : 0;
  g_fast = argc > 3 && strcmp(argv[3], "fast") == 0;
  g_agent = sonde_find_agent();
  if (g_threads < 1 || g_threads > kMostThreads) return 2;
  if (g_agent == NULL) return 3;
  const size_t bytes = ((size_t)g_threads + 2) * sizeof(uint64_t);
  const int fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return 2;
  g_progress = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (g_progress == MAP_FAILED) return 2;
  g_progress[g_threads] = (uint64_t)getpid();
  pthread_t threads[kMostThreads];
  for (long i = 0; i < g_threads; ++i) {
    if (pthread_create(&threads[i], NULL, work, (void*)i) != 0) return 2;
  }
  for (long i = 0; i < g_threads; ++i) pthread_join(threads[i], NULL);
  return 0;
}
