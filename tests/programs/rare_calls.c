/* rare_calls CALL [PROGRAM...]: calls that few programs make, most of them about what a process may
 * do from then on. What is printed does not depend on whether the program is recorded. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "cpu_clock.h"

enum { kSetDispatch = 59, kStack = 4096 };

/* Reads the clock without a system call. */
static void spin(double seconds) {
  const int64_t begin = clock_ns(CLOCK_MONOTONIC);
  volatile unsigned sum = 0;
  do {
    for (unsigned i = 0; i < 100000; ++i) sum += i;
  } while ((double)(clock_ns(CLOCK_MONOTONIC) - begin) / 1e9 < seconds);
}

/* The same by CPU time, of which the samples are. */
static void work(double seconds) {
  volatile unsigned sum = 0;
  do {
    for (unsigned i = 0; i < 100000; ++i) sum += i;
  } while ((double)cpu_ns() / 1e9 < seconds);
}

static volatile char selector;
static volatile int caught;

static void on_system_call(int number) {
  (void)number;
  selector = 0;
  ++caught;
}

/* The program is to handle its system calls itself, and makes none. */
static int dispatch(void) {
  signal(SIGSYS, on_system_call);
  if (prctl(kSetDispatch, 1, 0, 0, &selector) != 0) return puts("no dispatch") < 0;
  selector = 1;
  spin(0.5);
  selector = 0;
  prctl(kSetDispatch, 0, 0, 0, 0);
  printf("%d system calls\n", caught);
  return 0;
}

/* A filter that ends the program at the opening of a file for writing. */
static int only_read(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof code / sizeof code[0], code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) perror("seccomp");
  spin(0.5);
  puts("only read");
  return 0;
}

static void allow(int rules, const char* path) {
  struct landlock_path_beneath_attr rule = {
      LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
      open(path, O_PATH | O_CLOEXEC)};
  if (rule.parent_fd < 0) return;
  syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(rule.parent_fd);
}

/* A program in a sandbox that has the system's files only. */
static int landlock(char** program) {
  const struct landlock_ruleset_attr all = {.handled_access_fs = (1 << 13) - 1};
  const int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
  const char* system[] = {"/usr", "/lib", "/lib64", "/bin", "/etc"};
  for (size_t i = 0; i < sizeof system / sizeof system[0]; ++i) allow(rules, system[i]);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (rules >= 0) syscall(SYS_landlock_restrict_self, rules, 0);
  execv(program[0], program);
  return 1;
}

static int exec_true(void* unused) {
  (void)unused;
  char* arguments[] = {"/bin/true", NULL};
  execve(arguments[0], arguments, environ);
  return 9;
}

/* exec in a child that shares memory with its parent and has a page of stack. */
static int small_exec(void) {
  char* memory = mmap(NULL, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory, kStack, PROT_NONE);
  const pid_t child = clone(exec_true, memory + 2 * kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
  int status = -1;
  waitpid(child, &status, 0);
  printf("status %x\n", (unsigned)status);
  return 0;
}

static int c11_worker(void* number) {
  work(0.5);
  return *(int*)number;
}

static int c11(void) {
  thrd_t thread;
  int number = -7, result = 0;
  if (thrd_create(&thread, c11_worker, &number) != thrd_success) return 1;
  thrd_join(thread, &result);
  printf("result %d\n", result);
  return 0;
}

static void* worker(void* unused) {
  work(0.5);
  return unused;
}

static void* work_for_ever(void* unused) {
  work(1e9);
  return unused;
}

/* As libraries start threads that are to receive no signals. */
static pthread_t start_blocked(void* (*function)(void*)) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&thread, NULL, function, NULL) != 0) _exit(1);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return thread;
}

static int blocked(void) {
  pthread_join(start_blocked(worker), NULL);
  puts("joined");
  return 0;
}

/* The same, and main returns first. */
static int blocked_at_exit(void) {
  const pthread_t thread = start_blocked(work_for_ever);
  clockid_t clock;
  pthread_getcpuclockid(thread, &clock);
  do {
    usleep(10000);
  } while (clock_ns(clock) < 500000000);
  return 0;
}

static void* spawn_cancelled(void* unused) {
  char* arguments[] = {"/bin/true", NULL};
  pid_t child;
  pthread_cancel(pthread_self());
  const int failed = posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ);
  printf("posix_spawn %d\n", failed);
  if (failed == 0) waitpid(child, NULL, 0);
  return unused;
}

/* posix_spawn is no place where a thread is cancelled. */
static int cancelled(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, spawn_cancelled, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  return 0;
}

/* Nothing can be opened from the start. */
static int no_files(void) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_NOFILE, &none);
  work(0.5);
  puts("no files");
  return 0;
}

int main(int argc, char** argv) {
  const char* call = argc > 1 ? argv[1] : "";
  if (strcmp(call, "dispatch") == 0) return dispatch();
  if (strcmp(call, "only_read") == 0) return only_read();
  if (strcmp(call, "landlock") == 0 && argc > 2) return landlock(argv + 2);
  if (strcmp(call, "small_exec") == 0) return small_exec();
  if (strcmp(call, "c11") == 0) return c11();
  if (strcmp(call, "blocked") == 0) return blocked();
  if (strcmp(call, "blocked_at_exit") == 0) return blocked_at_exit();
  if (strcmp(call, "cancelled") == 0) return cancelled();
  if (strcmp(call, "no_files") == 0) return no_files();
  return 2;
}
