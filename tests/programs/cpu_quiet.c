/* Does what signals could disturb, and says what it got: sleeps, polls, reads, waits on semaphores
 * and errno, in threads that burn CPU time in between. Each has another thread that answers it
 * through a pipe, so that both wait in read() for what is not there yet. Prints the number of
 * surprises: results other than those of an undisturbed program. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cpu_clock.h"

static long g_surprises;
static long g_waits;       /* reads that found nothing yet */
static long long g_cpu_ns; /* of the threads */
static int g_ms;

static void surprise(const char* what, long result) {
  fprintf(stderr, "%s: result %ld, errno %d\n", what, result, errno);
  __atomic_fetch_add(&g_surprises, 1, __ATOMIC_RELAXED);
}

static void burn(long rounds) {
  volatile long x = 0;
  for (long i = 0; i < rounds; ++i) x += i;
}

/* The program's own time, in which a sample can be taken: it stands for all before it. */
static void finish(long long end) {
  while (cpu_ns() < end + 20000000ll) burn(100000);
  __atomic_fetch_add(&g_cpu_ns, cpu_ns(), __ATOMIC_RELAXED);
}

/* 0 at the end of what is to be read. */
static int read_byte(int fd) {
  char byte;
  int ready = 1;
  if (ioctl(fd, FIONREAD, &ready) == 0 && ready == 0) {
    __atomic_fetch_add(&g_waits, 1, __ATOMIC_RELAXED);
  }
  const ssize_t got = read(fd, &byte, 1);
  if (got < 0) surprise("read", got);
  return got != 0;
}

static void* answer(void* pipes) {
  const int* fds = pipes; /* from the asking thread, to it */
  while (read_byte(fds[0])) {
    burn(1000);
    if (write(fds[3], "x", 1) != 1) surprise("write", -1);
  }
  finish(cpu_ns());
  return NULL;
}

static void* work(void* unused) {
  const long long end = cpu_ns() + g_ms * 1000000ll;
  int fds[2], pipes[4];
  pthread_t other;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  if (pipe(fds) != 0 || pipe(pipes) != 0 || pipe(pipes + 2) != 0) return NULL;
  pthread_create(&other, NULL, answer, pipes);
  for (long round = 0; cpu_ns() < end; ++round) {
    /* Many system calls, so that many samples fall due within one. */
    struct pollfd item = {fds[0], POLLIN, 0};
    const struct timespec nothing = {0, 1000};
    struct timespec soon;
    long result;
    errno = 4711;
    burn(2000);
    if (errno != 4711) surprise("errno", 0);
    result = poll(&item, 1, round % 64 == 0 ? 1 : 0);
    if (result != 0) surprise("poll", result);
    if (nanosleep(&nothing, NULL) != 0) surprise("nanosleep", -1);
    if (round % 64 == 0 && usleep(200) != 0) surprise("usleep", -1);
    clock_gettime(CLOCK_REALTIME, &soon);
    result = sem_timedwait(&semaphore, &soon);
    if (result != -1 || errno != ETIMEDOUT) surprise("sem_timedwait", result);
    char byte = 'x';
    if (write(fds[1], &byte, 1) != 1) surprise("write", -1);
    if (read(fds[0], &byte, 1) != 1) surprise("read", -1);
    if (write(pipes[1], &byte, 1) != 1) surprise("write", -1);
    if (!read_byte(pipes[2])) surprise("read", 0);
  }
  close(pipes[1]);
  pthread_join(other, NULL);
  finish(end);
  for (int i = 0; i < 4; ++i) {
    if (i != 1) close(pipes[i]);
  }
  close(fds[0]);
  close(fds[1]);
  sem_destroy(&semaphore);
  return unused;
}

int main(int argc, char** argv) {
  pthread_t threads[2];
  g_ms = argc > 1 ? atoi(argv[1]) : 500;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("{\"surprises\": %ld, \"waits\": %ld, \"cpu_ms\": %lld}\n", g_surprises, g_waits,
         g_cpu_ns / 1000000);
  return g_surprises != 0;
}
