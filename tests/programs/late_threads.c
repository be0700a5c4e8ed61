/* Threads that begin before recording is switched on, and moments at which a program minds that
 * there is a thread which is not its own.
 *   late_threads stay COUNT    threads with names, each of which burns so many ms of CPU time when
 * a line of standard input says how many; "on" is sonde_start() late_threads begin COUNT   threads
 * that do nothing, one after another late_threads fork          the threads of a process that has
 * joined its only other one, and forks: "threads 1" late_threads unshare       what unshare() says
 * then: "unshare 0" late_threads leave         main leaves by pthread_exit, and then the last
 * thread */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu_clock.h"
#include "sonde/sonde.h"

static pthread_barrier_t g_begin, g_end;
static long g_ms; /* -1: the end */

static void* stay(void* number) {
  char name[16];
  snprintf(name, sizeof name, "late-%d", (int)(size_t)number);
  pthread_setname_np(pthread_self(), name);
  for (;;) {
    pthread_barrier_wait(&g_begin);
    if (g_ms < 0) return NULL;
    for (const long long end = cpu_ns() + g_ms * 1000000; cpu_ns() < end;) {
      for (volatile int i = 0; i < 100000; ++i) {
      }
    }
    pthread_barrier_wait(&g_end);
  }
}

static void say(const char* text) {
  puts(text);
  fflush(stdout);
}

static int run_staying(int count) {
  pthread_t threads[64];
  char line[32];
  if (count < 1 || count > 64) return 2;
  pthread_barrier_init(&g_begin, NULL, (unsigned)count + 1);
  pthread_barrier_init(&g_end, NULL, (unsigned)count + 1);
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, stay, (void*)(size_t)i);
  for (say("ready"); fgets(line, sizeof line, stdin) != NULL; say("done")) {
    if (strcmp(line, "on\n") == 0) {
      sonde_start();
      continue;
    }
    g_ms = atol(line);
    pthread_barrier_wait(&g_begin);
    pthread_barrier_wait(&g_end);
  }
  g_ms = -1;
  pthread_barrier_wait(&g_begin);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  return 0;
}

static void* nothing(void* value) { return value; }

static void run_one(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, nothing, NULL) != 0) abort();
  pthread_join(thread, NULL);
}

/* The kernel's count; one that was joined may be in it a little longer. */
static int thread_count(void) {
  char line[256];
  int count = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    sscanf(line, "Threads: %d", &count);
  if (file != NULL) fclose(file);
  return count;
}

static int run_fork(void) {
  run_one();
  usleep(100000);
  const pid_t child = fork();
  if (child == 0) {
    run_one();
    _exit(0);
  }
  printf("threads %d\n", thread_count());
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int run_unshare(void) {
  run_one();
  usleep(100000);
  const int result = unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
  printf("unshare %d\n", result);
  run_one();
  return 0;
}

static void* last(void* value) {
  usleep(200000);
  say("last");
  return value;
}

static void leave(void) {
  pthread_t thread;
  run_one();
  pthread_create(&thread, NULL, last, NULL);
  pthread_detach(thread);
  pthread_exit(NULL);
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  const int number = count > 2 ? atoi(words[2]) : 0;
  if (strcmp(what, "stay") == 0) return run_staying(number);
  if (strcmp(what, "fork") == 0) return run_fork();
  if (strcmp(what, "unshare") == 0) return run_unshare();
  if (strcmp(what, "leave") == 0) leave();
  if (strcmp(what, "begin") != 0) return 2;
  for (int i = 0; i < number; ++i) run_one();
  return 0;
}
