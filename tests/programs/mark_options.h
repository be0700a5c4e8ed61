/* Command line and bookkeeping of the mark_* programs: what they were asked to do, and how a test
 * learns what they did even if they are killed. Each program prints one JSON line at its end. */
#ifndef MARK_OPTIONS_H
#define MARK_OPTIONS_H

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct mark_options {
  long threads;         /* --threads N */
  long pairs;           /* --pairs N, of each thread */
  const char* mode;     /* --mode constant|changing|unique */
  const char* progress; /* --progress FILE: one uint64 per thread, stored after each pair */
  const char* die;      /* --die segv|abort|_exit|sigterm|sigkill, by the first thread ... */
  long after;           /* --after N of its pairs */
  const char* library;  /* --library NAME to open */
  int busy;             /* --busy: mark until killed */
};

static inline void mark_usage(const char* program) {
  fprintf(stderr,
          "usage: %s [--threads N] [--pairs N] [--mode constant|changing|unique] [--busy]\n"
          "       [--progress FILE] [--die segv|abort|_exit|sigterm|sigkill --after N]\n"
          "       [--library NAME]\n",
          program);
  exit(2);
}

static inline struct mark_options mark_parse(int argc, char** argv, long threads, long pairs) {
  struct mark_options options = {threads, pairs, "constant", NULL, NULL, 0, NULL, 0};
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--busy") == 0) {
      options.busy = 1;
      continue;
    }
    if (value == NULL) mark_usage(argv[0]);
    if (strcmp(argv[i], "--threads") == 0) {
      options.threads = atol(value);
    } else if (strcmp(argv[i], "--pairs") == 0) {
      options.pairs = atol(value);
    } else if (strcmp(argv[i], "--mode") == 0) {
      options.mode = value;
    } else if (strcmp(argv[i], "--progress") == 0) {
      options.progress = value;
    } else if (strcmp(argv[i], "--die") == 0) {
      options.die = value;
    } else if (strcmp(argv[i], "--after") == 0) {
      options.after = atol(value);
    } else if (strcmp(argv[i], "--library") == 0) {
      options.library = value;
    } else {
      mark_usage(argv[0]);
    }
    ++i;
  }
  if (options.threads < 1 || options.pairs < 0) mark_usage(argv[0]);
  return options;
}

/* One counter per thread, in a file that outlives the program, or in plain memory. */
static inline volatile uint64_t* mark_progress(const struct mark_options* options) {
  const size_t size = (size_t)options->threads * sizeof(uint64_t);
  int flags = MAP_SHARED | MAP_ANONYMOUS;
  int fd = -1;
  if (options->progress != NULL) {
    fd = open(options->progress, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
      perror(options->progress);
      exit(2);
    }
    flags = MAP_SHARED;
  }
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (memory == MAP_FAILED) {
    perror("mmap");
    exit(2);
  }
  if (fd >= 0) close(fd);
  return (volatile uint64_t*)memory;
}

static inline void mark_die(const char* how) {
  fflush(stdout);
  if (strcmp(how, "segv") == 0) {
    volatile int* nowhere = NULL;
    *nowhere = 1; /* NOLINT: the crash that is asked for */
  } else if (strcmp(how, "abort") == 0) {
    abort();
  } else if (strcmp(how, "_exit") == 0) {
    _exit(7);
  } else if (strcmp(how, "sigterm") == 0) {
    kill(getpid(), SIGTERM);
    pause();
  } else if (strcmp(how, "sigkill") == 0) {
    kill(getpid(), SIGKILL);
    pause();
  }
  fprintf(stderr, "unknown way to die: %s\n", how);
  exit(2);
}

#endif
