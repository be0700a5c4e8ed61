/* librpd_tracer.so of RPD, answered by Sonde.
 *
 * Its functions are those of sonde.h: they act in a program that is being recorded, and do nothing
 * in another one. Preloaded into a program that is not recorded (LD_PRELOAD=librpd_tracer.so), it
 * starts the program again under `sonde record`, before any code of the program has run; so the
 * program is recorded from its begin, by the same recorder as always, and its number is that of the
 * recorder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sonde/sonde.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void rpdstart(void) {
  static int told;
  if (sonde_api() == NULL && !__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED)) {
    fputs("librpd_tracer.so: rpdstart: this program is not recorded; start it with loadTracer.sh\n",
          stderr);
  }
  sonde_start();
}

EXPORTED void rpdstop(void) { sonde_stop(); }

EXPORTED void rpdflush(void) { sonde_flush(); }

EXPORTED void rpd_rangePush(const char* domain, const char* name, const char* args) {
  char text[4096];
  (void)domain;
  if (sonde_api() == NULL || name == NULL) return;
  if (args == NULL || *args == '\0') {
    sonde_range_push(name);
    return;
  }
  snprintf(text, sizeof text, "%s %s", name, args);
  sonde_range_push(text);
}

EXPORTED void rpd_rangePop(void) { sonde_range_pop(); }

/* Whether the variables that the process was started with have the library in LD_PRELOAD. The
 * program may change its own variables, but not these: a library that it opens later never starts
 * it again. */
static int preloaded(void) {
  static const char kName[] = "LD_PRELOAD=";
  char* text = NULL;
  size_t size = 0, room = 0;
  int found = 0;
  const int file = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  for (;;) {
    if (size + 1 >= room) {
      char* const more = realloc(text, room = room * 2 + 16384);
      if (more == NULL) break;
      text = more;
    }
    const ssize_t got = read(file, text + size, room - size - 1);
    if (got <= 0) break;
    size += (size_t)got;
  }
  close(file);
  for (size_t at = 0; text != NULL && at < size; at += strlen(text + at) + 1) {
    text[size] = '\0';
    if (strncmp(text + at, kName, sizeof kName - 1) == 0) {
      found = strstr(text + at, "librpd_tracer") != NULL;
    }
  }
  free(text);
  return found;
}

/* Whether a path leads to what runs here (statx, since stat is glibc 2.33's). */
static int is_running(const char* path) {
  struct statx running, other;
  return statx(AT_FDCWD, "/proc/self/exe", 0, STATX_INO, &running) == 0 &&
         statx(AT_FDCWD, path, 0, STATX_INO, &other) == 0 && other.stx_ino == running.stx_ino &&
         other.stx_dev_major == running.stx_dev_major &&
         other.stx_dev_minor == running.stx_dev_minor;
}

/* argv[0], if that is what runs here (a virtual environment's python is found by its name); else
 * the file. */
static const char* program(const char* named, char* path) {
  const char* folders = getenv("PATH");
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (length <= 0) return NULL;
  path[length] = '\0';
  if (named == NULL) return path;
  if (strchr(named, '/') != NULL) return is_running(named) ? named : path;
  while (folders != NULL && *folders != '\0') {
    char whole[PATH_MAX];
    const size_t size = strcspn(folders, ":");
    snprintf(whole, sizeof whole, "%.*s/%s", size == 0 ? 1 : (int)size, size == 0 ? "." : folders,
             named);
    /* The first one is what would be run. */
    if (access(whole, X_OK) == 0) return is_running(whole) ? named : path;
    folders += size + (folders[size] == ':');
  }
  return path;
}

/* The name of the trace, without keys. */
static char* literal(const char* name) {
  char* const copy = malloc(2 * strlen(name) + 1);
  char* to = copy;
  if (copy == NULL) return NULL;
  for (; *name != '\0'; ++name) {
    if (*name == '%') *to++ = '%';
    *to++ = *name;
  }
  *to = '\0';
  return copy;
}

static int is_on(const char* value) {
  return value != NULL &&
         (strcmp(value, "1") == 0 || strcmp(value, "true") == 0 || strcmp(value, "on") == 0);
}

/* The tool that this library is part of: PREFIX/lib/sonde/drop-in/librpd_tracer.so. */
static const char* tool(char* path) {
  Dl_info self;
  char library[PATH_MAX];
  const char* const named = getenv("SONDE");
  if (named != NULL && *named != '\0') return named;
  if (dladdr((const void*)(uintptr_t)&rpdstart, &self) != 0 &&
      realpath(self.dli_fname, library) != NULL) {
    for (int up = 0; up < 4; ++up) {
      char* const end = strrchr(library, '/');
      if (end != NULL) *end = '\0';
    }
    snprintf(path, PATH_MAX, "%.*s/bin/sonde", PATH_MAX - 16, library);
    if (access(path, X_OK) == 0) return path;
  }
  return "sonde";
}

__attribute__((constructor)) static void start_recorded(int argc, char** argv) {
  char sonde[PATH_MAX], file[PATH_MAX];
  const char* const name = getenv("RPDT_FILENAME");
  const char* const starts = getenv("RPDT_AUTOSTART");
  const char* const recorder = tool(sonde);
  const char* command;
  char** words;
  int count = 0;
  if (argc < 1 || getenv("RPDT_LOADED") != NULL || sonde_api() != NULL || !preloaded()) return;
  if (strcmp(program_invocation_short_name, "sonde") == 0) return;
  command = program(argv[0], file);
  words = calloc((size_t)argc + 12, sizeof *words);
  if (command == NULL || words == NULL) return;
  words[count++] = (char*)(uintptr_t)recorder;
  words[count++] = "record";
  words[count++] = "-o";
  words[count++] = literal(name != NULL && *name != '\0' ? name : "trace.rpd");
  if (words[count - 1] == NULL) return;
  if (starts != NULL && strcmp(starts, "0") == 0) words[count++] = "--no-start";
  if (is_on(getenv("RPDT_STACKFRAMES"))) words[count++] = "--launch-stacks";
  words[count++] = "--";
  words[count++] = (char*)(uintptr_t)command;
  for (int i = 1; i < argc; ++i) words[count++] = argv[i];
  setenv("RPDT_LOADED", "1", 1);
  execvp(recorder, words);
  {
    const int error = errno;
    unsetenv("RPDT_LOADED");
    fprintf(stderr, "librpd_tracer.so: %s: %s; the program is not recorded\n", recorder,
            strerror(error));
  }
  free(words);
}
