/* profiled: a program with a profiler of its own: one of its threads sets SIGPROF and ITIMER_PROF
 * while all work, and counts the signals. Prints whether they are as many as they should be, and
 * only they. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "../programs/cpu_clock.h"

enum { kPeriodUs = 10000, kNs = 300000000 };

static atomic_long caught, strange;

static void on_prof(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  atomic_fetch_add(&caught, 1);
  if (info->si_code != SI_KERNEL) atomic_fetch_add(&strange, 1);
}

static void* work(void* sets) {
  if (sets != NULL) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_prof;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &action, NULL);
    const struct itimerval often = {{0, kPeriodUs}, {0, kPeriodUs}};
    setitimer(ITIMER_PROF, &often, NULL);
  }
  do {
    for (volatile int i = 0; i < 20000; ++i) continue;
  } while (cpu_ns() < kNs);
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, i == 1 ? &threads : NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  const struct itimerval none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &none, NULL);
  const long most = 3L * (kNs / 1000) / kPeriodUs;
  printf("plausible: %d, strange: %ld\n", caught >= most / 4 && caught <= most * 2, (long)strange);
  return 0;
}
