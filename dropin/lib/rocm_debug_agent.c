/* librocm-debug-agent.so.2, answered by Sonde: HSA_TOOLS_LIB=librocm-debug-agent.so.2 ./program
 *
 * The HSA runtime loads it and calls OnLoad(). It starts `sonde debug` as a process of its own,
 * which reports what is on the board of this one (src/wire/board.h), then lets Sonde's own library
 * take part in the runtime, and is out of the way: at a fault that library waits until the report
 * is there. Options are those of AMD's agent, in ROCM_DEBUG_AGENT_OPTIONS.
 *
 * What goes wrong is said in a line, and the program goes on; wrong options end it, as with AMD's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

typedef bool (*on_load)(void*, uint64_t, uint64_t, const char* const*);

static const char kName[] = "librocm-debug-agent.so.2";

struct options {
  char text[4096]; /* cut into words */
  bool all, no_signals;
  const char* save; /* the folder, or NULL */
  const char* output;
};

static int g_asked = -1; /* a byte asks for a report */

static void complain(const char* what, const char* of) {
  fprintf(stderr, "%s: %s%s%s; the program goes on without reports\n", kName, what,
          of[0] != '\0' ? ": " : "", of);
}

__attribute__((noreturn)) static void print_usage(const char* trouble) {
  if (trouble != NULL) fprintf(stderr, "error: %s\n", trouble);
  fputs(
      "ROCm debug agent, answered by Sonde (sonde help debug). Options of ROCM_DEBUG_AGENT_OPTIONS:\n"
      "  -a, --all                      print all wavefronts, not only those that stopped\n"
      "  -s, --save-code-objects[=DIR]  save all loaded code objects into the folder (.)\n"
      "  -p, --precise-memory           accepted: on a software GPU addresses are exact anyway\n"
      "  -o, --output=FILE              write to this file, which is overwritten (standard error)\n"
      "  -d, --disable-linux-signals    no report for SIGQUIT, which does what it does without us\n"
      "  -l, --log-level=LEVEL          none, error, warning, info or verbose: accepted\n"
      "  -h, --help                     this text, and the program ends\n",
      stderr);
  abort();
}

/* "error: --all=3: takes no value", and the program ends. */
__attribute__((noreturn)) static void refuse(const char* word, const char* why) {
  char text[256];
  snprintf(text, sizeof text, "%s: %s", word, why);
  print_usage(text);
}

struct choice {
  char letter;
  const char* name;
  enum { kNone, kOptional, kNeeded } value;
};
static const struct choice kChoices[] = {
    {'a', "all", kNone},      {'s', "save-code-objects", kOptional}, {'p', "precise-memory", kNone},
    {'o', "output", kNeeded}, {'d', "disable-linux-signals", kNone}, {'l', "log-level", kNeeded},
    {'h', "help", kNone}};
enum { kCount = sizeof kChoices / sizeof kChoices[0] };

/* A long name may be cut short where that is clear. */
static const struct choice* find_long(const char* name, size_t length) {
  const struct choice* found = NULL;
  for (int i = 0; i < kCount; ++i) {
    if (strncmp(kChoices[i].name, name, length) != 0) continue;
    if (strlen(kChoices[i].name) == length) return &kChoices[i];
    if (found != NULL) return NULL;
    found = &kChoices[i];
  }
  return found;
}

static const struct choice* find_short(char letter) {
  for (int i = 0; i < kCount; ++i) {
    if (kChoices[i].letter == letter) return &kChoices[i];
  }
  return NULL;
}

static void check_level(const char* level) {
  static const char* const kLevels[] = {"none", "error", "warning", "info", "verbose"};
  for (size_t i = 0; i < sizeof kLevels / sizeof kLevels[0]; ++i) {
    if (strcmp(level, kLevels[i]) == 0) return;
  }
  refuse(level, "the log level is none, error, warning, info or verbose");
}

static void take(struct options* options, char letter, const char* value) {
  struct stat info;
  switch (letter) {
    case 'a':
      options->all = true;
      break;
    case 's':
      options->save = value != NULL ? value : ".";
      if (stat(options->save, &info) == 0 && S_ISDIR(info.st_mode)) break;
      fprintf(stderr, "error: Cannot access code object save directory `%s'\n", options->save);
      print_usage(NULL);
    case 'o':
      options->output = value;
      break;
    case 'd':
      options->no_signals = true;
      break;
    case 'l':
      check_level(value);
      break;
    case 'h':
      print_usage(NULL);
    default:
      break;
  }
}

/* As getopt_long() takes them, whose state may be the program's. */
static void parse(struct options* options) {
  const char* given = getenv("ROCM_DEBUG_AGENT_OPTIONS");
  char* rest = options->text;
  char* word;
  if (given != NULL && strlen(given) >= sizeof options->text) {
    refuse("ROCM_DEBUG_AGENT_OPTIONS", "longer than 4095 bytes");
  }
  snprintf(options->text, sizeof options->text, "%s", given != NULL ? given : "");
  while ((word = strtok_r(rest, " \t\n", &rest)) != NULL) {
    const struct choice* choice;
    const char* value = NULL;
    if (strncmp(word, "--", 2) == 0 && word[2] != '\0') {
      const size_t length = strcspn(word + 2, "=");
      choice = find_long(word + 2, length);
      if (word[2 + length] == '=') value = word + 3 + length;
      if (choice == NULL) refuse(word, "no such option");
      if (value != NULL && choice->value == kNone) refuse(word, "takes no value");
      if (choice->value == kNeeded && value == NULL) value = strtok_r(rest, " \t\n", &rest);
      if (choice->value == kNeeded && value == NULL) refuse(word, "needs a value");
      take(options, choice->letter, value);
      continue;
    }
    if (word[0] != '-' || word[1] == '\0') refuse(word, "is no option (a value follows --option=)");
    for (const char* at = word + 1; *at != '\0'; ++at) { /* -ad is -a -d */
      choice = find_short(*at);
      if (choice == NULL) refuse(word, "no such option");
      if (choice->value == kNone) {
        take(options, *at, NULL);
        continue;
      }
      value = at[1] != '\0' ? at + 1 : NULL;
      if (choice->value == kNeeded && value == NULL) value = strtok_r(rest, " \t\n", &rest);
      if (choice->value == kNeeded && value == NULL) refuse(word, "needs a value");
      take(options, *at, value);
      break;
    }
  }
}

/* PREFIX of PREFIX/lib/sonde/drop-in/librocm-debug-agent.so.2. */
static bool find_prefix(char* prefix) {
  Dl_info self;
  if (dladdr((const void*)(uintptr_t)&find_prefix, &self) == 0 ||
      realpath(self.dli_fname, prefix) == NULL) {
    return false;
  }
  for (int up = 0; up < 4; ++up) {
    char* const end = strrchr(prefix, '/');
    if (end != NULL) *end = '\0';
  }
  return true;
}

/* The program's environment, but for what is meant for the program, and with whom to watch. A copy:
 * between fork and exec nothing may be allocated. */
static char** environment_of_watcher(char* attach) {
  extern char** environ;
  size_t count = 0, kept = 0;
  char** copy;
  while (environ[count] != NULL) ++count;
  copy = calloc(count + 2, sizeof *copy);
  for (size_t i = 0; copy != NULL && i < count; ++i) {
    static const char* const kLeftOut[] = {
        "HSA_TOOLS_LIB=", "LD_PRELOAD=", "SONDE_DEBUG_ATTACH=", "SONDE_SESSION=", "SONDE_INJECT="};
    bool is_kept = true;
    for (size_t j = 0; j < sizeof kLeftOut / sizeof kLeftOut[0]; ++j) {
      is_kept = is_kept && strncmp(environ[i], kLeftOut[j], strlen(kLeftOut[j])) != 0;
    }
    if (is_kept) copy[kept++] = environ[i];
  }
  if (copy != NULL) copy[kept] = attach;
  return copy;
}

struct start {
  const char* tool;
  char** words;
  char** environment;
  int ready, asked; /* the watcher's ends */
};

/* What the program holds open is none of the watcher's business. */
static void close_others(int one, int other) {
  const unsigned low = (unsigned)(one < other ? one : other);
  const unsigned high = (unsigned)(one < other ? other : one);
#ifdef SYS_close_range
  if (low > 3) syscall(SYS_close_range, 3, low - 1, 0);
  if (high > low + 1) syscall(SYS_close_range, low + 1, high - 1, 0);
  syscall(SYS_close_range, high + 1, ~0u, 0);
#endif
}

/* In a process that shares our memory until it is another program: system calls only. */
static int become_watcher(void* data) {
  const struct start* start = data;
  sigset_t none;
  const int nothing = open("/dev/null", O_RDWR);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid(); /* keys of the terminal are the program's */
  dup2(nothing, 0);
  dup2(nothing, 1);
  close_others(start->ready, start->asked);
  fcntl(start->ready, F_SETFD, 0);
  fcntl(start->asked, F_SETFD, 0);
  execve(start->tool, start->words, start->environment);
  _exit(127);
}

/* No child that the program's wait() would see: one that ends without a signal, whose own child the
 * watcher is. */
static int become_parent(void* data) {
  static char stack[32 * 1024];
  const int child = clone(become_watcher, stack + sizeof stack, CLONE_VM | CLONE_VFORK, data);
  _exit(child < 0 ? 1 : 0);
}

static bool start_watcher(struct start* start) {
  static char stack[32 * 1024];
  sigset_t all, before;
  int status = 0;
  pid_t between;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  between = clone(become_parent, stack + sizeof stack, CLONE_VM | CLONE_VFORK, start);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (between < 0) return false;
  while (waitpid(between, &status, __WCLONE) < 0 && errno == EINTR) {
  }
  return true;
}

/* The session directory, which the watcher tells when it is ready. */
static bool read_session(int fd, char* session, size_t room) {
  size_t used = 0;
  for (;;) {
    struct pollfd item = {fd, POLLIN, 0};
    const int found = poll(&item, 1, 10000);
    ssize_t got;
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0 || used + 1 >= room) return false;
    got = read(fd, session + used, room - used - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    used += (size_t)got;
    session[used] = '\0';
    if (session[used - 1] == '\n') break;
  }
  session[used - 1] = '\0';
  return true;
}

static bool begin_output(const struct options* options) {
  const int fd = options->output == NULL
                     ? -1
                     : open(options->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (options->output != NULL && fd < 0) complain(strerror(errno), options->output);
  if (fd >= 0) close(fd);
  return options->output == NULL || fd >= 0;
}

static bool watch(const struct options* options, const char* prefix, char* session, size_t room) {
  char tool[PATH_MAX + 16], attach[80];
  char* words[10];
  int ready[2], asked[2], count = 0;
  struct start start = {tool, words, NULL, -1, -1};
  bool is_ready = false;
  snprintf(tool, sizeof tool, "%s/bin/sonde", prefix);
  if (access(tool, X_OK) != 0) {
    complain("no such program", tool);
    return false;
  }
  if (pipe2(ready, O_CLOEXEC) != 0) return false;
  if (pipe2(asked, O_CLOEXEC | O_NONBLOCK) != 0) {
    close(ready[0]);
    close(ready[1]);
    return false;
  }
  snprintf(attach, sizeof attach, "SONDE_DEBUG_ATTACH=%d:%d:%d", (int)getpid(), ready[1], asked[0]);
  words[count++] = tool;
  words[count++] = (char*)(uintptr_t) "debug";
  if (options->all) words[count++] = (char*)(uintptr_t) "--all";
  if (options->save != NULL) {
    words[count++] = (char*)(uintptr_t) "--save-code-objects";
    words[count++] = (char*)(uintptr_t)options->save;
  }
  if (options->output != NULL) {
    words[count++] = (char*)(uintptr_t) "-o";
    words[count++] = (char*)(uintptr_t)options->output;
  }
  words[count] = NULL;
  start.environment = environment_of_watcher(attach);
  start.ready = ready[1];
  start.asked = asked[0];
  if (start.environment != NULL && start_watcher(&start)) {
    close(ready[1]);
    close(asked[0]);
    is_ready = read_session(ready[0], session, room);
    g_asked = asked[1];
  }
  free(start.environment);
  close(ready[0]);
  if (!is_ready) complain("does not start", tool);
  return is_ready;
}

static void on_quit(int number) {
  const int keep = errno;
  const char word = 'p';
  (void)number;
  if (write(g_asked, &word, 1) < 0) errno = keep;
  errno = keep;
}

/* What the program does with the signal itself stays as it is. */
static void take_signal(void) {
  struct sigaction now, ours;
  if (sigaction(SIGQUIT, NULL, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 ||
      (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)) {
    return;
  }
  memset(&ours, 0, sizeof ours);
  ours.sa_handler = on_quit;
  ours.sa_flags = SA_RESTART;
  sigaction(SIGQUIT, &ours, NULL);
}

EXPORTED bool OnLoad(void* table, uint64_t version, uint64_t failed_count,
                     const char* const* failed) {
  static char session[PATH_MAX];
  char prefix[PATH_MAX], path[PATH_MAX + 32];
  struct options options;
  void* library;
  on_load load = NULL;
  memset(&options, 0, sizeof options);
  parse(&options);
  /* One that records the program reports, too. */
  if (dlsym(RTLD_DEFAULT, "sonde_agent_v2") != NULL && getenv("SONDE_SESSION") != NULL) return true;
  if (!find_prefix(prefix) || !begin_output(&options)) return true;
  if (!watch(&options, prefix, session, sizeof session)) return true;
  setenv("SONDE_SESSION", session, 1);
  setenv("SONDE_ROCM", "hsa", 1);
  setenv("SONDE_BOARD_HOLDS", "1", 1);
  snprintf(path, sizeof path, "%s/lib/sonde/libsonde-agent.so", prefix);
  library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library != NULL) *(void**)&load = dlsym(library, "sonde_hsa_on_load");
  if (load != NULL) {
    load(table, version, failed_count, failed);
    if (!options.no_signals) take_signal();
  } else {
    complain("cannot be loaded", library == NULL ? dlerror() : path);
  }
  /* What the program starts has an agent of its own. */
  unsetenv("SONDE_SESSION");
  unsetenv("SONDE_ROCM");
  unsetenv("SONDE_BOARD_HOLDS");
  return true;
}

EXPORTED void OnUnload(void) {
  void (*unload)(void) = NULL;
  void* library = dlopen("libsonde-agent.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == NULL) return;
  *(void**)&unload = dlsym(library, "sonde_hsa_on_unload");
  if (unload != NULL) unload();
}
