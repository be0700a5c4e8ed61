/* Comes to the limits of what is kept for a thread or a process:
 *   names     interns 60,000 texts, as a runtime does that loads a library of kernels
 *   deep      begins 300 ranges that it never ends, then makes 1,000 calls
 *   files     has a thread that records when no descriptor is left
 *   nobody    has a thread that records when the process has become another user's
 *   renamed   threads, the main one too, that change their names after they have recorded something
 * Prints what it has done. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sonde/backend.h"
#include "sonde/sonde.h"

enum { kTexts = 60000, kCalls = 1000, kMarks = 1000 };

static int names(const struct sonde_agent* agent) {
  int zero = 0;
  for (int i = 0; i < kTexts; ++i) {
    char text[64];
    snprintf(text, sizeof text, "kernel_name_with_some_template_args_%d", i);
    const uint32_t id = agent->intern(text, strlen(text));
    if (id == 0) ++zero;
    if (id != 0 && i % 1000 == 999) agent->counter(id, i);
  }
  printf("{\"texts\":%d,\"zero\":%d}\n", kTexts, zero);
  return 0;
}

static int deep(const struct sonde_agent* agent) {
  const uint32_t function = agent->define_function("hip", "launch", "hipLaunchKernel", "");
  for (int i = 0; i < 300; ++i) sonde_range_push("step");
  for (int i = 0; i < kCalls; ++i) {
    const struct sonde_call call = agent->call_begin(function, 2);
    agent->call_end(&call, 0, NULL, 0);
  }
  printf("{\"calls\":%d}\n", kCalls);
  return 0;
}

static void* mark(void* unused) {
  for (int i = 0; i < kMarks; ++i) sonde_mark("in a thread");
  return unused;
}

static int in_a_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, mark, NULL) != 0) return 2;
  pthread_join(thread, NULL);
  printf("{\"marks\":%d}\n", kMarks);
  return 0;
}

static int files(void) {
  const struct rlimit few = {64, 64};
  setrlimit(RLIMIT_NOFILE, &few);
  sonde_mark("before");
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
  return in_a_thread();
}

static int nobody(void) {
  sonde_mark("before");
  if (setgid(65534) != 0 || setuid(65534) != 0) return 4;
  return in_a_thread();
}

static void* rename_itself(void* unused) {
  sonde_mark("first");
  pthread_setname_np(pthread_self(), "renamed");
  sonde_mark("second");
  return unused;
}

static void* rename_and_stay(void* unused) {
  sonde_mark("first");
  pthread_setname_np(pthread_self(), "stays");
  sonde_mark("ready");
  pause();
  return unused;
}

static int renamed(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, rename_itself, NULL) != 0) return 2;
  pthread_join(thread, NULL);
  if (pthread_create(&thread, NULL, rename_and_stay, NULL) != 0) return 2;
  char name[16] = "";
  while (pthread_getname_np(thread, name, sizeof name) != 0 || strcmp(name, "stays") != 0) {
    usleep(1000);
  }
  sonde_mark("main");
  pthread_setname_np(pthread_self(), "main later");
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const struct sonde_agent* agent = sonde_find_agent();
  if (agent == NULL) return 3;
  if (strcmp(what, "names") == 0) return names(agent);
  if (strcmp(what, "deep") == 0) return deep(agent);
  if (strcmp(what, "files") == 0) return files();
  if (strcmp(what, "nobody") == 0) return nobody();
  if (strcmp(what, "renamed") == 0) return renamed();
  return 2;
}
