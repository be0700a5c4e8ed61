/* Waits with another signal mask, as servers do: all signals are blocked while the program works,
 * and open while it waits. Prints what ended each wait; then, in threads, that each can be
 * cancelled. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "cpu_clock.h"

enum { kSuspend, kPoll, kSelect, kEpoll, kEpoll2, kWays };
static const char* const names[] = {"sigsuspend", "ppoll", "pselect", "epoll_pwait",
                                    "epoll_pwait2"};
static sigset_t none;
static volatile sig_atomic_t alarms, blocked_in_handler;

/* Runs with the mask of the wait, and what it starts has that, too. */
static void on_alarm(int number) {
  sigset_t mask;
  (void)number;
  ++alarms;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  for (int other = 1; other < 65; ++other) blocked_in_handler += sigismember(&mask, other) == 1;
}

static int wait_in(int way, const struct timespec* most) {
  struct epoll_event event;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  int result = -1;
  if (way == kSuspend) result = sigsuspend(&none);
  if (way == kPoll) result = ppoll(NULL, 0, most, &none);
  if (way == kSelect) result = pselect(0, NULL, NULL, NULL, most, &none);
  if (way == kEpoll) result = epoll_pwait(epoll, &event, 1, most != NULL ? 200 : -1, &none);
  if (way == kEpoll2) result = epoll_pwait2(epoll, &event, 1, most, &none);
  close(epoll);
  return result;
}

/* CPU time, in which a sample falls due. */
static void work(void) {
  while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 100000000 % 2 == 0) continue;
  while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 100000000 % 2 == 1) continue;
}

static void* wait_for_ever(void* way) {
  wait_in(*(int*)way, NULL);
  return NULL;
}

int main(void) {
  const struct timespec most = {0, 200000000};
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  signal(SIGALRM, on_alarm);
  sigprocmask(SIG_SETMASK, &all, NULL);
  for (int way = 0; way < kWays; ++way) {
    work();
    if (way == kSuspend) alarm(1);
    const int result = wait_in(way, &most);
    printf("%s: %d%s, %d alarms\n", names[way], result,
           result < 0 && errno == EINTR ? " interrupted" : "", (int)alarms);
  }
  printf("%d signals blocked in the handler\n", (int)blocked_in_handler);
  for (int way = 0; way < kWays; ++way) {
    pthread_t thread;
    void* result;
    pthread_create(&thread, NULL, wait_for_ever, &way);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("%s: %s\n", names[way], result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
  }
  return 0;
}
