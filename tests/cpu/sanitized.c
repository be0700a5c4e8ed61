/* What a sanitizer watches: threads, memory, a signal's handler and a child; then, where it is
 * asked to, one mistake of the kind that each of them finds: use, leak, race, unset. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* volatile: otherwise each thread accesses it once, which two may do unseen at one instant. */
static volatile int g_shared;

static void* work(void* unused) {
  volatile unsigned long x = 0;
  for (const clock_t end = clock() + CLOCKS_PER_SEC / 4; clock() < end;) {
    char* text = malloc(100);
    memset(text, 1, 100);
    x += (unsigned long)text[5];
    free(text);
  }
  return unused;
}

static void* race(void* unused) {
  for (int i = 0; i < 1000; ++i) g_shared = g_shared + 1;
  return unused;
}

static void both(void* (*function)(void*)) {
  pthread_t thread;
  pthread_create(&thread, NULL, function, NULL);
  function(NULL);
  pthread_join(thread, NULL);
}

static volatile sig_atomic_t g_signals;
static void on_signal(int number) {
  (void)number;
  g_signals = g_signals + 1;
}

int main(int argc, char** argv) {
  const char* mistake = argc > 1 ? argv[1] : "";
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, &before);
  if (before.sa_handler != SIG_DFL) puts("a handler of somebody");
  both(work);
  raise(SIGUSR1);
  if (fork() == 0) _exit(7);
  int status = 0;
  wait(&status);
  printf("signals %d, child %d\n", (int)g_signals, WEXITSTATUS(status));
  fflush(stdout);
  char* volatile memory = malloc(77);
  if (strcmp(mistake, "use") == 0) {
    free(memory);
    return memory[1] == 3 ? 1 : 0;
  }
  if (strcmp(mistake, "leak") == 0) memory = NULL;
  if (strcmp(mistake, "race") == 0) both(race);
  if (strcmp(mistake, "unset") == 0 && memory[5] == 3) puts("three");
  free(memory);
  return 0;
}
