/* For programs of two threads that are attached to while they make steps. A byte of standard input
 * asks for more of them, so that a recording has them however busy the machine is. */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 2, kMoreSteps = 20 };

static unsigned g_steps[kThreads], g_interrupted, g_wrong;
static volatile int g_end;

static void expect(int right) {
  if (!right) __atomic_fetch_add(&g_wrong, 1, __ATOMIC_RELAXED);
}

static void sleep_ms(long ms) {
  const struct timespec time = {0, ms * 1000000};
  if (nanosleep(&time, NULL) != 0) __atomic_fetch_add(&g_interrupted, 1, __ATOMIC_RELAXED);
}

static void step_made(unsigned thread) {
  __atomic_fetch_add(&g_steps[thread], 1, __ATOMIC_RELAXED);
}

/* For each byte, prints "more" once each thread has made so many whole steps. Returns at the end of
 * the input. */
static void answer_input(void) {
  char word;
  while (read(0, &word, 1) > 0) {
    for (int i = 0; i < kThreads; ++i) {
      const unsigned before = __atomic_load_n(&g_steps[i], __ATOMIC_RELAXED);
      const struct timespec time = {0, 1000000};
      /* The first may have begun before. */
      while (__atomic_load_n(&g_steps[i], __ATOMIC_RELAXED) - before < kMoreSteps + 1) {
        nanosleep(&time, NULL);
      }
    }
    puts("more");
    fflush(stdout);
  }
}

/* Each thread does `work`, which is told its number and makes steps until g_end. */
static void run_threads(void* (*work)(void*)) {
  unsigned numbers[kThreads] = {0, 1};
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, &numbers[i]);
  puts("ready");
  fflush(stdout);
  answer_input();
  g_end = 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("1 interrupted=%u wrong=%u\n", g_interrupted, g_wrong);
}
