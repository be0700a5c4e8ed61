/* A program with one thread that is attached to while it waits: attached_waits KIND, where KIND is
 * a name in kKinds. It waits in that call again and again until its standard input ends, and
 * computes in between where the call has a timeout. Counts calls that end early: with EINTR, or
 * before their timeout. At the end it prints "1 interrupted=N wrong=N". */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "cpu_clock.h"

enum { kTimeoutMs = 200 };

static int g_epoll, g_sockets[2];
static sigset_t g_signals;

/* Each returns what its call does: below 0 with errno, 0 for a timeout of epoll. */
static int wait_by_epoll(int timeout_ms) {
  struct epoll_event event;
  return epoll_wait(g_epoll, &event, 1, timeout_ms);
}
static int for_ever(void) { return wait_by_epoll(-1); }
static int with_timeout(void) { return wait_by_epoll(kTimeoutMs); }
static int with_mask(void) {
  struct epoll_event event;
  return epoll_pwait(g_epoll, &event, 1, -1, &g_signals);
}
static int with_fine_timeout(void) {
  struct epoll_event event;
  const struct timespec timeout = {0, kTimeoutMs * 1000000L};
  return (int)syscall(SYS_epoll_pwait2, g_epoll, &event, 1, &timeout, NULL, 0);
}
static int for_signals(void) {
  const struct timespec timeout = {0, kTimeoutMs * 1000000L};
  return sigtimedwait(&g_signals, NULL, &timeout);
}
static int for_data(void) {
  char byte;
  return (int)recv(g_sockets[0], &byte, 1, 0);
}
static int for_data_by_read(void) {
  char byte;
  return (int)read(g_sockets[0], &byte, 1);
}
static int for_a_message(void) {
  char byte;
  struct iovec piece = {&byte, 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  return (int)recvmsg(g_sockets[0], &message, 0);
}

static const struct {
  const char* name;
  int (*wait)(void);
} kKinds[] = {{"epoll_wait", for_ever},      {"epoll_wait_timeout", with_timeout},
              {"epoll_pwait", with_mask},    {"epoll_pwait2", with_fine_timeout},
              {"sigtimedwait", for_signals}, {"recv", for_data},
              {"recvmsg", for_a_message},    {"read", for_data_by_read}};

static double now_ms(void) { return (double)clock_ns(CLOCK_MONOTONIC) / 1e6; }

__attribute__((noinline, noclone)) double busy_between_waits(void) {
  double sum = 0;
  for (int i = 1; i <= 20000000; ++i) {
    sum += 1.0 / i;
    __asm__ volatile("" : "+x"(sum));
  }
  return sum;
}

static int set_up(void) {
  struct epoll_event input = {.events = EPOLLIN};
  const struct timeval timeout = {0, kTimeoutMs * 1000};
  g_epoll = epoll_create1(0);
  sigemptyset(&g_signals);
  sigaddset(&g_signals, SIGUSR1);
  sigprocmask(SIG_BLOCK, &g_signals, NULL);
  return epoll_ctl(g_epoll, EPOLL_CTL_ADD, 0, &input) == 0 &&
         socketpair(AF_UNIX, SOCK_STREAM, 0, g_sockets) == 0 &&
         setsockopt(g_sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0;
}

static int input_has_ended(void) {
  struct pollfd input = {0, POLLIN, 0};
  char byte;
  return poll(&input, 1, 0) > 0 && read(0, &byte, 1) == 0;
}

int main(int count, char** words) {
  int (*wait)(void) = NULL;
  unsigned interrupted = 0, wrong = 0;
  for (size_t i = 0; count == 2 && i < sizeof kKinds / sizeof *kKinds; ++i) {
    if (strcmp(words[1], kKinds[i].name) == 0) wait = kKinds[i].wait;
  }
  if (wait == NULL || !set_up()) return 2;
  puts("ready");
  fflush(stdout);
  do {
    const double begun_ms = now_ms();
    const int got = wait();
    const double waited_ms = now_ms() - begun_ms;
    if (got > 0) continue; /* of the input */
    if (got < 0 && errno == EINTR) {
      ++interrupted;
    } else if ((got < 0 && errno != EAGAIN) || waited_ms < kTimeoutMs - 1) {
      ++wrong;
    } else {
      busy_between_waits();
    }
  } while (!input_has_ended());
  printf("1 interrupted=%u wrong=%u\n", interrupted, wrong);
  return 0;
}
