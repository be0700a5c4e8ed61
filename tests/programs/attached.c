/* A program that is attached to while it runs: attached [SECONDS]. It has threads that compute,
 * allocate, wait in poll, nanosleep and for a condition, and makes new ones and child processes all
 * the time. A call that ends early because of a signal, or a sum that is wrong, is counted; at the
 * end it prints "ROUNDS interrupted=N wrong=N". Its main thread waits for its standard input to
 * end. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int g_end;
static unsigned g_interrupted, g_wrong, g_rounds;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;

static void count(unsigned* what) { __atomic_fetch_add(what, 1, __ATOMIC_RELAXED); }

__attribute__((noinline, noclone)) double busy_in_c(int n) {
  double sum = 0;
  for (int i = 1; i <= n; ++i) {
    sum += 1.0 / i;
    __asm__ volatile("" : "+x"(sum)); /* so that no caller can do without the call */
  }
  return sum;
}

static void* compute(void* unused) {
  const double right = busy_in_c(20000);
  while (!g_end) {
    if (busy_in_c(20000) != right) count(&g_wrong);
    count(&g_rounds);
  }
  return unused;
}

static void* allocate(void* unused) {
  while (!g_end) {
    char* blocks[64];
    for (int i = 0; i < 64; ++i) memset(blocks[i] = malloc(100 + i * 37), i, 100);
    for (int i = 0; i < 64; ++i) {
      if (blocks[i][99] != i) count(&g_wrong);
      free(blocks[i]);
    }
    const struct timespec time = {0, 500000};
    if (nanosleep(&time, NULL) != 0) count(&g_interrupted);
  }
  return unused;
}

static int g_pipe[2];

static void* wait_in_poll(void* unused) {
  while (!g_end) {
    struct pollfd item = {g_pipe[0], POLLIN, 0};
    if (poll(&item, 1, 3) != 0) count(errno == EINTR ? &g_interrupted : &g_wrong);
  }
  return unused;
}

static void* wait_for_condition(void* unused) {
  while (!g_end) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 5000000;
    if (time.tv_nsec >= 1000000000) {
      time.tv_nsec -= 1000000000;
      ++time.tv_sec;
    }
    pthread_mutex_lock(&g_lock);
    const int got = pthread_cond_timedwait(&g_condition, &g_lock, &time);
    pthread_mutex_unlock(&g_lock);
    if (got != ETIMEDOUT && got != 0) count(&g_wrong);
  }
  return unused;
}

__attribute__((noinline, noclone)) double busy_in_a_new_thread(void) {
  double sum = busy_in_c(30000000);
  __asm__ volatile("" : "+x"(sum)); /* no jump instead of the call */
  return sum;
}

static void* live_shortly(void* unused) {
  busy_in_a_new_thread();
  return unused;
}

static void* make_threads(void* unused) {
  while (!g_end) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, live_shortly, NULL) == 0) pthread_join(thread, NULL);
  }
  return unused;
}

int main(void) {
  void* (*const kinds[])(void*) = {compute, allocate, wait_in_poll, wait_for_condition,
                                   make_threads};
  enum { kKinds = sizeof kinds / sizeof *kinds };
  pthread_t threads[kKinds];
  if (pipe(g_pipe) != 0) return 2;
  for (int i = 0; i < kKinds; ++i) pthread_create(&threads[i], NULL, kinds[i], NULL);
  puts("ready");
  fflush(stdout);
  char word;
  ssize_t got;
  while ((got = read(0, &word, 1)) > 0) {
  }
  if (got < 0) count(&g_interrupted);
  g_end = 1;
  for (int i = 0; i < kKinds; ++i) pthread_join(threads[i], NULL);
  printf("%d interrupted=%u wrong=%u\n", g_rounds > 0, g_interrupted, g_wrong);
  return 0;
}
