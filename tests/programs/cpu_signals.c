/* Programs that have signals and stacks of their own, each by its name. Prints what they got, which
 * is the same whether they are sampled or not; a signal more, or a stack that is overrun, shows. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "cpu_clock.h"

#define APART __attribute__((noinline, noclone))

/* What is sampled: the work before and after the program has shown what it wants. What stands
 * behind keeps the calls from becoming jumps, and the functions from becoming one. */
static APART void burn(int ms) {
  volatile uint64_t x = 0;
  for (const int64_t end = cpu_ns() + ms * 1000000ll; cpu_ns() < end;) {
    for (int i = 0; i < 1000; ++i) x = x * 6364136223846793005u + 1;
  }
}
static APART void before(int ms) {
  burn(ms);
  __asm__ volatile("# before");
}
static APART void after(int ms) {
  burn(ms);
  __asm__ volatile("# after");
}

/* A stack with a page below that cannot be touched. */
static char* guarded(size_t bytes) {
  const size_t whole = (bytes + 4095) / 4096 * 4096;
  char* memory =
      mmap(NULL, whole + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory, 4096, PROT_NONE);
  return memory + 4096 + (whole - bytes);
}

/* ---- Stacks ---- */

static void* small_stack(void* unused) {
  const stack_t small = {.ss_sp = guarded(2048), .ss_size = 2048};
  stack_t told;
  before(50);
  printf("small: %d\n", sigaltstack(&small, NULL));
  after(200);
  sigaltstack(NULL, &told);
  printf("told: %d of %zu\n", told.ss_sp == small.ss_sp, told.ss_size);
  return unused;
}

static volatile sig_atomic_t g_handled;

/* Leaves less room than another signal would take. */
static void on_stack(int number) {
  (void)number;
  g_handled = g_handled + 1;
  after(50);
}

static void* busy_handler(void* unused) {
  /* The kernel's frame is no larger than this; the handler runs on what is left. */
  const size_t frame = getauxval(51) != 0 ? getauxval(51) : 4096;
  const stack_t stack = {.ss_sp = guarded(frame + 2048), .ss_size = frame + 2048};
  struct sigaction action = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK}, told;
  sigaltstack(&stack, NULL);
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR1, NULL, &told);
  for (int i = 0; i < 3; ++i) raise(SIGUSR1);
  printf("handled: %d, flags %x, blocks SIGURG %d\n", (int)g_handled, (unsigned)told.sa_flags,
         sigismember(&told.sa_mask, SIGURG));
  return unused;
}

static ucontext_t g_here, g_there;
static APART void in_coroutine(void) {
  after(150);
  __asm__ volatile("# in_coroutine");
}

/* Far less than a signal's frame with the registers of AVX-512. */
static void* small_coroutine(void* unused) {
  const size_t bytes = 2560;
  getcontext(&g_there);
  g_there.uc_stack.ss_sp = guarded(bytes);
  g_there.uc_stack.ss_size = bytes;
  g_there.uc_link = &g_here;
  makecontext(&g_there, in_coroutine, 0);
  swapcontext(&g_here, &g_there);
  printf("coroutine: back\n");
  return unused;
}

/* What the program sees of stacks and signals that it never set. */
static void* look(void* unused) {
  stack_t stack = {.ss_flags = 0}, none = {.ss_flags = SS_DISABLE};
  int set = 0;
  sigaltstack(NULL, &stack);
  printf("stack: flags %d, %zu bytes\n", stack.ss_flags, stack.ss_size);
  printf("disable: %d", sigaltstack(&none, &stack));
  printf(", flags %d, %zu bytes\n", stack.ss_flags, stack.ss_size);
  for (int i = 1; i <= 64; ++i) {
    struct sigaction action;
    if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL) ++set;
  }
  printf("handlers: %d\n", set);
  return unused;
}

static void alone_and_in_thread(void* (*function)(void*)) {
  pthread_t thread;
  function(NULL);
  pthread_create(&thread, NULL, function, NULL);
  pthread_join(thread, NULL);
}

/* ---- Signals ---- */

static volatile int g_stop;
static long g_got[65], g_sent[65];

static void count(int number) { __atomic_fetch_add(&g_got[number], 1, __ATOMIC_RELAXED); }
static void count_info(int number, siginfo_t* info, void* context) {
  (void)info;
  (void)context;
  count(number);
}

static void* burn_along(void* unused) {
  while (!g_stop) after(10);
  return unused;
}

static void send(int number) {
  ++g_sent[number];
  raise(number);
}

static int print_counts(const char* what) {
  int strange = 0;
  for (int i = 1; i <= 64; ++i) strange += g_got[i] != g_sent[i];
  printf("%s: %ld of SIGURG, %ld of the last, %d others strange\n", what, g_got[SIGURG], g_got[64],
         strange);
  return strange != 0;
}

/* Threads at work get none of what one of them installs. */
static int test_install(int reset) {
  pthread_t threads[2];
  struct sigaction action = {.sa_handler = count}, told;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, burn_along, NULL);
  before(100);
  sigaction(SIGURG, &action, &told);
  printf("it was the default: %d\n", told.sa_handler == SIG_DFL);
  for (int i = 0; i < 4; ++i) {
    send(SIGURG);
    after(50);
    if (reset) {
      signal(SIGURG, SIG_DFL);
      raise(SIGURG);
      after(20);
      signal(SIGURG, SIG_IGN);
      raise(SIGURG);
      after(20);
      printf("it was ignored: %d\n", signal(SIGURG, count) == SIG_IGN);
    }
  }
  g_stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  sigaction(SIGURG, NULL, &told);
  printf("it is ours: %d\n", told.sa_handler == count);
  return print_counts("installed");
}

/* The calls of System V. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int test_old(void) {
  before(100);
  printf("it was the default: %d\n", sigset(SIGURG, count) == SIG_DFL);
  send(SIGURG);
  after(100);
  printf("it was held: %d\n", (sigset(SIGURG, SIG_HOLD), sigset(SIGURG, count) == SIG_HOLD));
  send(SIGURG);
  after(100);
  printf("ignored: %d\n", sigignore(SIGURG));
  raise(SIGURG);
  after(100);
  printf("it was ignored: %d\n", sigset(SIGURG, SIG_DFL) == SIG_IGN);
  printf("none of these: %d %d\n", sigset(SIGKILL, count) == SIG_ERR, sigignore(99));
  sigset(SIGALRM, count);
  sighold(SIGALRM);
  alarm(1);
  ++g_sent[SIGALRM];
  after(100);
  printf("paused: %d\n", sigpause(SIGALRM));
  return print_counts("old");
}
#pragma GCC diagnostic pop

/* As the Go runtime does it, which uses SIGURG for itself: asks what each signal is, takes all of
 * them on the stacks that its threads have, and has threads stop by a SIGURG of their own. */
static void* go_thread(void* unused) {
  const stack_t stack = {.ss_sp = guarded(32768), .ss_size = 32768};
  sigaltstack(&stack, NULL);
  while (!g_stop) after(10);
  return unused;
}

static int test_go(void) {
  pthread_t threads[2];
  int defaults = 0;
  for (int i = 1; i <= 64; ++i) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART}, told;
    action.sa_sigaction = count_info;
    sigfillset(&action.sa_mask);
    if (sigaction(i, NULL, &told) != 0 || i == SIGKILL || i == SIGSTOP) continue;
    defaults += told.sa_handler == SIG_DFL;
    sigaction(i, &action, NULL);
  }
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, go_thread, NULL);
  for (int i = 0; i < 25; ++i) {
    pthread_kill(threads[i % 2], SIGURG);
    ++g_sent[SIGURG];
    after(10);
  }
  for (int i = 34; i <= 64; ++i) send(i);
  g_stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  g_got[SIGURG] = g_got[SIGURG] > g_sent[SIGURG] ? g_got[SIGURG] : g_sent[SIGURG]; /* they merge */
  printf("defaults: %d\n", defaults);
  return print_counts("go");
}

/* One thread waits for whatever comes, and works meanwhile, with all signals blocked. */
static int test_wait(void) {
  sigset_t all;
  siginfo_t info;
  int number = 0, file;
  const struct timespec soon = {0, 20000000};
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  for (int i = 0; i < 3; ++i) {
    burn(50);
    printf("nothing: %d\n", sigtimedwait(&all, &info, &soon));
    burn(50);
    kill(getpid(), SIGUSR2);
    sigwait(&all, &number);
    printf("waited for: %d\n", number == SIGUSR2);
  }
  sigemptyset(&all);
  sigaddset(&all, SIGURG);
  sigaddset(&all, SIGUSR2);
  file = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
  burn(100);
  struct signalfd_siginfo got;
  printf("to read: %d\n", (int)read(file, &got, sizeof got));
  kill(getpid(), SIGURG);
  printf("read: %d\n", read(file, &got, sizeof got) == sizeof got && got.ssi_signo == SIGURG);
  sigfillset(&all);
  pthread_sigmask(SIG_UNBLOCK, &all, NULL);
  after(150);
  return 0;
}

/* As libuv's child does before it executes something else. */
static int test_children(void) {
  volatile int good = 0; /* vfork shares them */
  for (volatile int i = 0; i < 6; ++i) {
    const pid_t child = i % 2 == 0 ? fork() : vfork();
    if (child == 0) {
      for (int number = 1; number < 32; ++number) {
        if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
      }
      execl("/bin/true", "true", NULL);
      _exit(1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    good += status == 0;
    after(60);
  }
  printf("children: %d\n", good);
  return good != 6;
}

/* ---- What a call costs ---- */

/* Stands before libc's, also for what is preloaded. The compiler believes that sigaction() calls
 * nothing of this file, hence volatile. */
static volatile int asked;
pid_t getpid(void) {
  ++asked;
  return (pid_t)syscall(SYS_getpid);
}

static void handle(int number) { (void)number; }

/* As a runtime does that sets its handlers before each of many short calls. */
static int test_again(void) {
  const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  asked = 0;
  for (int i = 0; i < 1000; ++i) sigaction(SIGUSR1, &action, NULL);
  /* A sample in between may ask, too. */
  printf("getpid: %s\n", asked < 100 ? "few" : "many");
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (strcmp(what, "small") == 0) return alone_and_in_thread(small_stack), 0;
  if (strcmp(what, "handler") == 0) return alone_and_in_thread(busy_handler), 0;
  if (strcmp(what, "coroutine") == 0) return alone_and_in_thread(small_coroutine), 0;
  if (strcmp(what, "look") == 0) return alone_and_in_thread(look), 0;
  if (strcmp(what, "install") == 0) return test_install(0);
  if (strcmp(what, "reset") == 0) return test_install(1);
  if (strcmp(what, "old") == 0) return test_old();
  if (strcmp(what, "go") == 0) return test_go();
  if (strcmp(what, "wait") == 0) return test_wait();
  if (strcmp(what, "children") == 0) return test_children();
  if (strcmp(what, "again") == 0) return test_again();
  return 2;
}
