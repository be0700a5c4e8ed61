// odd_habits HABIT: a program that does what few do, and marks before and after it. What is printed
// and how it ends does not depend on whether it is recorded.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sonde/sonde.h"

enum { kMarks = 30000 };  // more than one chunk

static void mark_often(const char* text) {
  for (int i = 0; i < kMarks; ++i) sonde_mark(text);
}

static void limit(int which, rlim_t value) {
  const struct rlimit both = {value, value};
  if (setrlimit(which, &both) != 0) perror("setrlimit");
}

// All descriptors are closed, and their numbers used again for a file of the program's.
static void closes(void) {
  syscall(SYS_close_range, 3, ~0u, 0);
  char name[] = "/tmp/odd-habits-XXXXXX";
  const int own = mkstemp(name);
  for (int fd = own + 1; fd < 64; ++fd) dup2(own, fd);
  mark_often("closed");
  printf("own file has %ld bytes\n", (long)lseek(own, 0, SEEK_END));
  unlink(name);
}

static void* in_small_thread(void* unused) {
  for (int i = 0; i < kMarks; ++i) {
    sonde_range_push("in a small thread");
    sonde_range_pop();
  }
  return unused;
}

static void small_stack(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    if (pthread_create(&threads[i], &attributes, in_small_thread, NULL) != 0) perror("thread");
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

static void work(void) {
  volatile double value = 1;
  for (long i = 0; i < 30000000; ++i) value *= 1.0000001;
}

// Little is permitted; `otherwise` is what happens to all else. Works for a while then, so that a
// sampler would come by.
static void sandbox(unsigned otherwise) {
  static const int allowed[] = {SYS_read,         SYS_write, SYS_exit,  SYS_exit_group,
                                SYS_rt_sigreturn, SYS_brk,   SYS_futex, SYS_newfstatat,
                                SYS_fstat,        SYS_getpid};
  struct sock_filter code[64] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)}};
  unsigned short length = 1;
  for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; ++i) {
    code[length++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)allowed[i]};
    code[length++] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  }
  code[length++] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, otherwise};
  const struct sock_fprog program = {length, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) perror("seccomp");
  mark_often("in a sandbox");
  work();
}

static void strict(void) {
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
  mark_often("in strict mode");
  work();
}

static void no_time_stamps(void) {
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  mark_often("without a time stamp counter");
  work();
}

// A mapping at an address of the program's own choice: where nothing is, as far as it can know.
static void fixed(void) {
  char* const place = (char*)0x100000000000;
  for (int i = 0; i < 64; ++i) {
    char* page = mmap(place + (size_t)i * 65536, 65536, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(page, i, 65536);
  }
  mark_often("mapped");
  long wrong = 0;
  for (int i = 0; i < 64; ++i) {
    for (int k = 0; k < 65536; ++k) wrong += place[(size_t)i * 65536 + (size_t)k] != (char)i;
  }
  printf("%ld bytes are wrong\n", wrong);
}

static void mask(void) {
  sigset_t all, now;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  mark_often("masked");
  sigprocmask(SIG_SETMASK, NULL, &now);
  printf("mask %s\n", memcmp(&all, &now, 8) == 0 ? "whole" : "changed");
}

static int run(const char* habit) {
  if (strcmp(habit, "close") == 0)
    closes();
  else if (strcmp(habit, "stack") == 0)
    small_stack();
  else if (strcmp(habit, "sandbox") == 0)
    sandbox(SECCOMP_RET_ERRNO | EPERM);
  else if (strcmp(habit, "deadly") == 0)
    sandbox(SECCOMP_RET_KILL_PROCESS);
  else if (strcmp(habit, "strict") == 0)
    strict();
  else if (strcmp(habit, "tsc") == 0)
    no_time_stamps();
  else if (strcmp(habit, "fixed") == 0)
    fixed();
  else if (strcmp(habit, "mask") == 0)
    mask();
  else if (strcmp(habit, "nofile") == 0)
    limit(RLIMIT_NOFILE, 3);
  else if (strcmp(habit, "fsize") == 0)
    limit(RLIMIT_FSIZE, 0);
  else if (strcmp(habit, "as") == 0)
    limit(RLIMIT_AS, 8 << 20);
  else if (strcmp(habit, "nproc") == 0)
    limit(RLIMIT_NPROC, 1);
  else if (strcmp(habit, "memlock") == 0)
    mlockall(MCL_CURRENT | MCL_FUTURE);
  else if (strcmp(habit, "undumpable") == 0)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  else if (strcmp(habit, "environment") == 0) {
    clearenv();
    environ = NULL;
  } else if (strcmp(habit, "folder") == 0) {
    if (chdir("/proc/self") != 0) return 1;
  } else if (strcmp(habit, "umask") == 0)
    umask(0777);
  else
    return 2;
  return 0;
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (argc < 2) return 2;
  if (argc > 2) {  // the habit before anything is recorded
    const int failed = run(argv[1]);
    if (failed != 0) return failed;
  }
  mark_often("before");
  errno = 77;
  sonde_range_push("around the habit");
  printf("errno %d\n", errno);
  const int failed = run(argv[1]);
  mark_often("after");
  sonde_range_pop();
  printf("%s %d\n", argv[1], failed);
  return failed;
}
