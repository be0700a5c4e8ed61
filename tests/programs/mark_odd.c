/* Programs that make life hard for a recorder, one per mode: mark_odd MODE [N]. Each makes N marks
 * (20,000, several chunks' worth of unlike texts) around what it does, and prints how many before
 * it loses the means to. Exit status 5 where all went well, so that it is seen to pass. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sonde/sonde.h"

static char* g_self;
static long g_count = 20000;

static void make(long count) {
  char text[64];
  for (long i = 0; i < count; ++i) {
    snprintf(text, sizeof text, "process %d mark %ld", (int)getpid(), i);
    sonde_mark(text);
  }
}

static void require(int holds, const char* what) {
  if (holds) return;
  perror(what);
  exit(2);
}

static void announce(long marks) {
  printf("{\"marks\":%ld}\n", marks);
  fflush(stdout);
}

/* ---- what a process may do to itself ---- */

static void close_all(void) {
  for (int fd = 0; fd < 1024; ++fd) close(fd);
}

static void no_descriptors(void) {
  const struct rlimit limit = {3, 3};
  require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

static void small_files(void) {
  const struct rlimit limit = {4096, 4096};
  require(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
}

static void change_folder(void) { require(chdir("/") == 0, "chdir"); }

static void change_root(void) { require(chroot("/proc") == 0 && chdir("/") == 0, "chroot"); }

static void drop_privileges(void) {
  require(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0, "setuid");
}

/* ---- signals ---- */

/* A handler slower than its timer would never let the program go on. */
static void stop_timer(void) {
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
}

static volatile sig_atomic_t g_forks;

/* Once, not again and again: where a fork takes longer than from one signal to the next, the
 * program would stand where the first has found it. */
static void alarm_soon(void) {
  const struct itimerval soon = {{0, 0}, {0, 2000}};
  setitimer(ITIMER_REAL, &soon, NULL);
}

static void fork_in_handler(int number) {
  (void)number;
  const int saved = errno;
  const pid_t child = fork();
  if (child == 0) {
    sonde_mark("in a child made by a signal handler");
    _exit(0);
  }
  if (child > 0 && waitpid(child, NULL, 0) == child && ++g_forks < 20) alarm_soon();
  errno = saved;
}

/* The parent's marks are all its own; the handler's child adds none or one, so they are told apart
 * by text. */
static void signal_fork(void) {
  struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  alarm_soon();
  long made = 0;
  do {
    make(g_count);
    made += g_count;
  } while (g_forks < 20 && made < 100 * g_count);
  stop_timer();
  announce(made);
}

static volatile sig_atomic_t g_handled;

static void mark_in_handler(int number) {
  (void)number;
  sonde_mark("in a signal handler");
  if (++g_handled == 300) stop_timer();
}

/* Marks of a handler that interrupts the recording itself are dropped, and that is counted. */
static void signal_mark(void) {
  struct sigaction action = {.sa_handler = mark_in_handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval each = {{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &each, NULL);
  long made = 0;
  for (; g_handled < 300 && made < 100 * g_count; made += g_count) make(g_count);
  stop_timer();
  announce(made + g_handled);
}

/* ---- threads ---- */

static void* tiny(void* argument) {
  make((long)(intptr_t)argument);
  return NULL;
}

static void tiny_stacks(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
  announce(4 * g_count);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    require(pthread_create(&threads[i], &attributes, tiny, (void*)(intptr_t)g_count) == 0,
            "thread");
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

static void* outlive_main(void* argument) {
  usleep(20000);
  make((long)(intptr_t)argument);
  exit(5);
}

static void main_exits(void) {
  announce(2 * g_count);
  pthread_t thread;
  require(pthread_create(&thread, NULL, outlive_main, (void*)(intptr_t)g_count) == 0, "thread");
  make(g_count);
  pthread_exit(NULL);
}

/* exit() while other threads still record: whatever they committed counts, nothing hangs. */
static void* forever(void* argument) {
  for (;;) make(100);
  return argument;
}

static void exit_among_threads(void) {
  announce(g_count);
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i)
    require(pthread_create(&threads[i], NULL, forever, NULL) == 0, "thread");
  make(g_count);
}

static void close_libraries(void) {
  announce(2 * g_count);
  make(g_count);
  /* One handle too many is given back, as careless plugin managers do. */
  void* handle = dlopen("libsonde-agent.so", RTLD_NOLOAD | RTLD_LAZY);
  for (int i = 0; handle != NULL && i < 3; ++i) dlclose(handle);
  make(g_count);
}

/* ---- children ---- */

static char* g_child[] = {"mark_odd", "plain", NULL, NULL};
static char* g_nothing[] = {NULL};

static void finish_child(pid_t child) {
  int status = 0;
  require(child > 0 && waitpid(child, &status, 0) == child, "child");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) exit(3);
}

/* Every way to start a program, without an environment where it takes one. */
static void start_all(void) {
  static char number[32];
  snprintf(number, sizeof number, "%ld", g_count);
  g_child[2] = number;
  announce(10 * g_count); /* 9 children and this process */
  fflush(stdout);
  make(g_count);
  pid_t child;
#define START(call) \
  child = fork();   \
  if (child == 0) { \
    call;           \
    _exit(3);       \
  }                 \
  finish_child(child)
  START(execve(g_self, g_child, g_nothing));
  START(execvpe(g_self, g_child, g_nothing));
  START(execle(g_self, "mark_odd", "plain", number, (char*)NULL, g_nothing));
  START(fexecve(open(g_self, O_RDONLY | O_CLOEXEC), g_child, g_nothing));
  START((clearenv(), execv(g_self, g_child)));
  START((clearenv(), execl(g_self, "mark_odd", "plain", number, (char*)NULL)));
  child = vfork();
  if (child == 0) {
    execve(g_self, g_child, g_nothing);
    _exit(3);
  }
  finish_child(child);
  require(posix_spawn(&child, g_self, NULL, NULL, g_child, g_nothing) == 0, "posix_spawn");
  finish_child(child);
  char line[PATH_MAX + 64];
  snprintf(line, sizeof line, "exec %s plain %s", g_self, number);
  if (system(line) != 5 << 8) exit(3);
}

/* A daemon: its marks are made after its parent and the command have ended. */
static void make_daemon(void) {
  announce(2 * g_count);
  make(g_count);
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  usleep(300000);
  make(g_count);
  _exit(0);
}

static void fork_many(void) {
  announce(40 * 100 + g_count);
  make(g_count);
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      make(100);
      exit(5);
    }
    finish_child(child);
  }
}

static void plain(void) { make(g_count); }

static const struct {
  const char* name;
  void (*run)(void);
  void (*between)(void); /* ... two halves of marks, where there is no other `run` */
} kModes[] = {{"plain", plain, NULL},
              {"close-all", NULL, close_all},
              {"no-descriptors", NULL, no_descriptors},
              {"small-files", NULL, small_files},
              {"chdir", NULL, change_folder},
              {"chroot", NULL, change_root},
              {"drop-privileges", NULL, drop_privileges},
              {"signal-fork", signal_fork, NULL},
              {"signal-mark", signal_mark, NULL},
              {"tiny-stacks", tiny_stacks, NULL},
              {"main-exits", main_exits, NULL},
              {"exit-among-threads", exit_among_threads, NULL},
              {"close-libraries", close_libraries, NULL},
              {"start-all", start_all, NULL},
              {"daemon", make_daemon, NULL},
              {"fork-many", fork_many, NULL}};

int main(int argc, char** argv) {
  static char path[PATH_MAX];
  if (argc < 2 || readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return 2;
  g_self = path;
  if (argc > 2) g_count = atol(argv[2]);
  for (size_t i = 0; i < sizeof kModes / sizeof kModes[0]; ++i) {
    if (strcmp(argv[1], kModes[i].name) != 0) continue;
    if (kModes[i].run != NULL) {
      kModes[i].run();
    } else {
      announce(2 * g_count);
      make(g_count);
      kModes[i].between();
      make(g_count);
    }
    return 5;
  }
  fprintf(stderr, "%s: no mode %s\n", argv[0], argv[1]);
  return 2;
}
