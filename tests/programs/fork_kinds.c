// fork_kinds KIND [FIRST]: a child made in one of many ways records something and ends. What is
// printed does not depend on whether it is recorded; the counts of marks come as a JSON line.
//   fork, _Fork, clone, clone3   a process with memory of its own; FIRST says what it records first
//   nested                       _Fork() in a child of _Fork()
//   threads                      a child of _Fork() whose first events come from two threads
//   vfork                        shares the memory; its parent waits
//   vm, thread                   share the memory and run beside their parent, without thread
//                                storage of their own: a process, and a thread
#define _GNU_SOURCE
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sonde/sonde.h"

enum { kMarks = 20000, kStack = 256 * 1024 };

static char stack[kStack] __attribute__((aligned(16)));
static atomic_int child_has_ended;

static pid_t make_child(const char* kind) {
  if (strcmp(kind, "_Fork") == 0 || strcmp(kind, "nested") == 0 || strcmp(kind, "threads") == 0) {
    return _Fork();
  }
  if (strcmp(kind, "clone") == 0) return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (strcmp(kind, "clone3") == 0) {
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
  }
  return fork();
}

static void* mark_often(void* unused) {
  for (int i = 0; i < kMarks / 2; ++i) sonde_mark("of a child's thread");
  return unused;
}

static void record_in_child(const char* kind, const char* first) {
  if (strcmp(kind, "threads") == 0) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, mark_often, NULL);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    return;
  }
  if (strcmp(first, "counter") == 0) sonde_counter("a counter of the child", 1);
  if (strcmp(first, "metadata") == 0) sonde_metadata("key of the child", "value");
  if (strcmp(first, "pop") == 0) sonde_range_pop();
  if (strcmp(first, "known") == 0) sonde_counter("a counter of the parent", 2);
  for (int i = 0; i < kMarks; ++i) sonde_mark("child");
}

static int wait_for(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, __WALL) != child) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int beside(void* unused) {
  (void)unused;
  for (int i = 0; i < kMarks; ++i) sonde_mark("beside");
  atomic_store(&child_has_ended, 1);
  syscall(SYS_exit, 7);  // libc would end what is the parent's
  return 0;
}

static int run_beside(int flags) {
  const int is_thread = (flags & CLONE_THREAD) != 0;
  const pid_t child = clone(beside, stack + kStack, flags | (is_thread ? 0 : SIGCHLD), NULL);
  for (int i = 0; i < kMarks; ++i) sonde_mark("parent");
  if (!is_thread) return wait_for(child);
  while (atomic_load(&child_has_ended) == 0) usleep(1000);
  return 7;
}

static int run_vfork(void) {
  const pid_t child = vfork();
  if (child == 0) {
    sonde_mark("child");
    _exit(7);
  }
  return wait_for(child);
}

static int run(const char* kind, const char* first) {
  if (strcmp(kind, "vfork") == 0) return run_vfork();
  if (strcmp(kind, "vm") == 0) return run_beside(CLONE_VM | CLONE_FS | CLONE_FILES);
  if (strcmp(kind, "thread") == 0) {
    return run_beside(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                      CLONE_SYSVSEM);
  }
  const pid_t child = make_child(kind);
  if (child == 0) {
    if (strcmp(kind, "nested") == 0) {
      const pid_t inner = _Fork();
      if (inner != 0) _exit(wait_for(inner));
    }
    record_in_child(kind, first);
    _exit(7);
  }
  return wait_for(child);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  sonde_counter("a counter of the parent", 1);
  sonde_range_push("around the child");
  for (int i = 0; i < 3; ++i) sonde_mark("before");
  const int status = run(argv[1], argc > 2 ? argv[2] : "mark");
  for (int i = 0; i < 3; ++i) sonde_mark("after");
  sonde_range_pop();
  printf("{\"marks\": %d}\nchild %d\n", kMarks, status);
  return 0;
}
