// What is hard on a sampler, each by its name: fork, exec, threads, dlopen, constructor, list,
// overflow, deep, signal.
// Prints what came of it; it is always the same.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu_clock.h"

#define APART __attribute__((noinline, noclone))

namespace {

APART void burn_for(int64_t ms) {
  volatile uint64_t x = 0;
  for (const int64_t end = cpu_ns() + ms * 1000000; cpu_ns() < end;) {
    for (int i = 0; i < 20000; ++i) x = x * 6364136223846793005 + 1;
  }
}

APART void in_child() { burn_for(150); }

// Children of a sampled thread are sampled, and end as they want to.
void* fork_in_thread(void*) {
  static int good = 0;
  for (int i = 0; i < 5; ++i) {
    burn_for(30);
    const pid_t child = fork();
    if (child == 0) {
      in_child();
      _exit(i + 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == i + 1) {
      ++good;
    }
  }
  return &good;
}

int test_fork() {
  pthread_t thread;
  void* good = nullptr;
  pthread_create(&thread, nullptr, fork_in_thread, nullptr);
  pthread_join(thread, &good);
  printf("children: %d\n", *static_cast<int*>(good));
  return 0;
}

void* burn_shortly(void*) {
  burn_for(8);
  return nullptr;
}

// Threads that live for a few samples each.
int test_threads() {
  constexpr int kThreads = 160, kAtOnce = 8;
  pthread_t threads[kAtOnce];
  for (int i = 0; i < kThreads + kAtOnce; ++i) {
    if (i >= kAtOnce) pthread_join(threads[i % kAtOnce], nullptr);
    if (i < kThreads) pthread_create(&threads[i % kAtOnce], nullptr, burn_shortly, nullptr);
  }
  printf("threads: %d\n", kThreads);
  return 0;
}

// Libraries come and go at the same addresses, while threads run in them.
const char* g_libraries[2];
void* open_and_close(void* which) {
  using Burner = uint64_t (*(*)(int))(uint64_t);
  long rounds = 0;
  for (const int64_t end = cpu_ns() + 600000000; cpu_ns() < end; ++rounds) {
    void* library = dlopen(g_libraries[(rounds + (which != nullptr ? 1 : 0)) % 2], RTLD_NOW);
    if (library == nullptr) return nullptr;
    const auto burner = reinterpret_cast<Burner>(dlsym(library, "split_burner"));
    for (int k = 0; k < 3; ++k) burner(k)(20000);
    dlclose(library);
  }
  return which != nullptr ? which : &g_libraries;
}

int test_dlopen(char** paths) {
  g_libraries[0] = paths[0];
  g_libraries[1] = paths[1];
  pthread_t threads[2];
  int good = 0;
  for (int i = 0; i < 2; ++i) {
    pthread_create(&threads[i], nullptr, open_and_close, i == 0 ? nullptr : &threads);
  }
  for (const pthread_t thread : threads) {
    void* result = nullptr;
    pthread_join(thread, &result);
    good += result != nullptr;
  }
  printf("threads: %d\n", good);
  return 0;
}

// A library whose constructor waits, with the loader's lock: for a thread that was there before to
// start another, and children of kinds that libc is not told of, and for a thread of its own.
int g_asking[2], g_answering[2];

bool child_ends_well(pid_t child) {
  if (child == 0) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    if (sigaction(SIGUSR1, &action, nullptr) != 0 || prctl(PR_SET_NAME, "child") != 0 ||
        unshare(CLONE_FILES) != 0) {
      _exit(1);
    }
    char name[] = "/bin/true";
    char* const arguments[] = {name, nullptr};
    execve(name, arguments, environ);
    _exit(1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

void* start_when_asked(void*) {
  char byte = 0;
  pthread_t thread;
  if (read(g_asking[0], &byte, 1) == 1 &&
      pthread_create(&thread, nullptr, burn_shortly, nullptr) == 0) {
    pthread_join(thread, nullptr);
  }
  int good = child_ends_well(fork()) ? 1 : 0;
  good += child_ends_well(_Fork()) ? 1 : 0;
  good += child_ends_well(static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))) ? 1 : 0;
  printf("children: %d\n", good);
  return write(g_answering[1], &byte, 1) == 1 ? &g_asking : nullptr;
}

int test_constructor(const char* path) {
  pthread_t thread;
  if (pipe(g_asking) != 0 || pipe(g_answering) != 0) return 1;
  pthread_create(&thread, nullptr, start_when_asked, nullptr);
  char ends[32];
  snprintf(ends, sizeof ends, "%d %d", g_asking[1], g_answering[0]);
  setenv("CPU_ROUGH_PIPES", ends, 1);
  printf("loaded: %d\n", dlopen(path, RTLD_NOW) != nullptr);
  pthread_join(thread, nullptr);
  return 0;
}

// A thread stays in the loader's list of libraries, whose lock children have as it was. They start
// threads, as they may where libc knows of the fork.
int stay_in_list(dl_phdr_info*, size_t, void* pipes) {
  char byte = 1;
  const int* const ends = static_cast<int*>(pipes);
  return write(ends[1], &byte, 1) == 1 && read(ends[2], &byte, 1) == 1 ? 1 : -1;
}
void* list_libraries(void* pipes) {
  dl_iterate_phdr(stay_in_list, pipes);
  return nullptr;
}

bool starts_thread(pid_t child) {
  if (child == 0) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, burn_shortly, nullptr) != 0) _exit(1);
    _exit(pthread_join(thread, nullptr));
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int test_list() {
  int pipes[4];
  char byte = 1;
  pthread_t thread;
  if (pipe(pipes) != 0 || pipe(pipes + 2) != 0) return 1;
  pthread_create(&thread, nullptr, list_libraries, pipes);
  if (read(pipes[0], &byte, 1) != 1) return 1;
  const int good = (starts_thread(fork()) ? 1 : 0) + (starts_thread(_Fork()) ? 1 : 0);
  if (write(pipes[3], &byte, 1) != 1) return 1;
  pthread_join(thread, nullptr);
  printf("children: %d\n", good);
  return 0;
}

// A stack that overflows again and again, and is left by the handler of the signal.
sigjmp_buf g_way_out;
void on_overflow(int) { siglongjmp(g_way_out, 1); }

APART int endless(int depth) {
  volatile char frame[200];
  frame[0] = static_cast<char>(depth);
  if (depth < 0) return 0;  // never; the compiler warns of a recursion without an end
  return endless(depth + 1) + frame[0];
}

int test_overflow() {
  static char other_stack[64 * 1024];
  const stack_t stack = {other_stack, 0, sizeof other_stack};
  struct sigaction action = {};
  action.sa_handler = on_overflow;
  action.sa_flags = SA_ONSTACK;
  sigaltstack(&stack, nullptr);
  sigaction(SIGSEGV, &action, nullptr);
  static int caught = 0;
  while (caught < 200) {
    if (sigsetjmp(g_way_out, 1) == 0) {
      endless(0);
    } else {
      ++caught;
    }
  }
  printf("overflows: %d\n", caught);
  return 0;
}

APART uint64_t deep(int depth) {
  if (depth == 0) {
    burn_for(300);
    return 1;
  }
  volatile uint64_t below = deep(depth - 1);
  return below + 1;
}

// The program's own handler of the sampler's signal gets its signals, and no others.
volatile sig_atomic_t g_signals = 0;
void on_urgent(int) { g_signals = g_signals + 1; }

int test_signal() {
  burn_for(100);
  signal(SIGURG, on_urgent);
  for (int i = 0; i < 10; ++i) {
    raise(SIGURG);
    burn_for(30);
  }
  printf("signals: %d\n", static_cast<int>(g_signals));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "fork") == 0) return test_fork();
  if (strcmp(what, "threads") == 0) return test_threads();
  if (strcmp(what, "dlopen") == 0 && argc > 3) return test_dlopen(argv + 2);
  if (strcmp(what, "list") == 0) return test_list();
  if (strcmp(what, "constructor") == 0 && argc > 2) return test_constructor(argv[2]);
  if (strcmp(what, "overflow") == 0) return test_overflow();
  if (strcmp(what, "signal") == 0) return test_signal();
  if (strcmp(what, "deep") == 0) {
    printf("depth: %llu\n", static_cast<unsigned long long>(deep(50000)));
    return 0;
  }
  if (strcmp(what, "exec") == 0) {
    burn_for(100);
    execl("/proc/self/exe", argv[0], "deep", nullptr);
  }
  return 2;
}
