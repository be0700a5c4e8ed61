/* Sonde's C API for programs that mark what they do. Header only: include it, link nothing.
 *
 *   sonde_range_push("epoch 3");  ...  sonde_range_pop();
 *
 * Under `sonde record` the calls are recorded; otherwise each is a test of one pointer. The text is
 * copied before a function returns and may be of any length. Every function may be called from any
 * thread; ranges pushed and popped nest within a thread, ranges started and stopped may cross
 * threads and overlap. Needs glibc (dlsym; add -ldl before glibc 2.34). */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a recording offers to programs. Later versions append members; `size` says how many there
 * are. `domain` and `category` are intern()ed names of kinds of ranges, or 0. */
struct sonde_functions {
  uint32_t size;          /* sizeof(struct sonde_functions) of the recording's Sonde */
  int (*recording)(void); /* 1 while events are wanted */
  uint32_t (*intern)(const char* text, size_t length);
  void (*range_push)(uint32_t domain, uint32_t category, const char* text);
  int (*range_pop)(uint32_t domain);
  uint64_t (*range_start)(uint32_t domain, uint32_t category, const char* text);
  void (*range_stop)(uint64_t id);
  void (*mark)(uint32_t domain, uint32_t category, const char* text);
  void (*counter)(uint32_t name, double value);
  void (*metadata)(const char* key, const char* value);
  void (*start)(void);
  void (*stop)(void);
  void (*flush)(void);
};

static const struct sonde_functions* sonde_found;
static int sonde_looked_up;

/* Runs at the first call. It leaves a note in the object file that says where `sonde_found` is:
 * `sonde record --pid` sets it in a running program and clears it when the recording ends. */
__attribute__((noinline, unused)) static void sonde_look_up(void) {
#if defined(__x86_64__) && defined(__ELF__)
  __asm__ volatile(
      ".pushsection .note.sonde,\"a\",@note\n\t"
      ".balign 4\n\t"
      ".long 6, 8, 1\n\t"
      ".asciz \"Sonde\"\n\t"
      ".balign 4\n\t"
      ".quad %c0 - .\n\t"
      ".popsection"
      :
      : "i"(&sonde_found));
#endif
  const struct sonde_functions* (*get)(void) =
      (const struct sonde_functions* (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "sonde_functions_v1");
  const struct sonde_functions* functions = get != NULL ? get() : NULL;
  if (functions != NULL) __atomic_store_n(&sonde_found, functions, __ATOMIC_RELAXED);
  __atomic_store_n(&sonde_looked_up, 1, __ATOMIC_RELEASE);
}

/* NULL while the program is not being recorded. That may change at any time: call this once and
 * use the result for one operation. */
static inline const struct sonde_functions* sonde_api(void) {
  if (__builtin_expect(__atomic_load_n(&sonde_looked_up, __ATOMIC_ACQUIRE) == 0, 0)) {
    sonde_look_up();
  }
  return __atomic_load_n(&sonde_found, __ATOMIC_RELAXED);
}

/* A range of this thread: push opens it, pop closes the innermost. pop returns the number of ranges
 * still open, or -1 if none was. */
static inline void sonde_range_push(const char* text) {
  const struct sonde_functions* api = sonde_api();
  if (api != NULL) api->range_push(0, 0, text);
}
static inline int sonde_range_pop(void) {
  const struct sonde_functions* api = sonde_api();
  return api != NULL ? api->range_pop(0) : -1;
}

/* A range of the process: stop may be called by another thread. start returns 0 if not recorded. */
static inline uint64_t sonde_range_start(const char* text) {
  const struct sonde_functions* api = sonde_api();
  return api != NULL ? api->range_start(0, 0, text) : 0;
}
static inline void sonde_range_stop(uint64_t range) {
  const struct sonde_functions* api = sonde_api();
  if (api != NULL && range != 0) api->range_stop(range);
}

/* A moment. */
static inline void sonde_mark(const char* text) {
  const struct sonde_functions* api = sonde_api();
  if (api != NULL) api->mark(0, 0, text);
}

/* The value of a named quantity at this moment, e.g. ("loss", 0.25). */
static inline void sonde_counter(const char* name, double value) {
  const struct sonde_functions* api = sonde_api();
  if (api != NULL) api->counter(api->intern(name, __builtin_strlen(name)), value);
}

/* A fact about the run, e.g. ("batch size", "64"). */
static inline void sonde_metadata(const char* key, const char* value) {
  const struct sonde_functions* api = sonde_api();
  if (api != NULL) api->metadata(key, value);
}

/* Recording of this process on and off; calls nest. `sonde record --no-start` begins switched off.
 * flush returns when everything recorded so far would survive a SIGKILL. */
static inline void sonde_start(void) {
  const struct sonde_functions* api = sonde_api();
  if (api != NULL) api->start();
}
static inline void sonde_stop(void) {
  const struct sonde_functions* api = sonde_api();
  if (api != NULL) api->stop();
}
static inline void sonde_flush(void) {
  const struct sonde_functions* api = sonde_api();
  if (api != NULL) api->flush();
}

#ifdef __cplusplus
}
#endif

#endif /* SONDE_SONDE_H */
