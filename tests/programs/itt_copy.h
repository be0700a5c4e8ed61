/* One static copy of the ITT notify library, as the collector sees it; by declarations of our own.
 * `old` copies have function entries without a null function, as those before 2011 had. */
#ifndef ITT_COPY_H
#define ITT_COPY_H

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct itt_id {
  unsigned long long d1, d2, d3;
};
struct domain {
  volatile int flags;
  const char* name;
  void* wide;
  int extra1;
  void* extra2;
  struct domain* next;
};
struct string {
  const char* text;
  void* wide;
  int extra1;
  void* extra2;
  struct string* next;
};
struct counter {
  const char* name;
  void* wide;
  const char* domain;
  void* wide_domain;
  int type;
  long index;
  int extra1;
  void* extra2;
  struct counter* next;
};

/* The functions that a copy has: what they return, their names and their parameters. */
#define ITT_EACH(X)                                                                                \
  X(struct domain*, domain_create, (const char*))                                                  \
  X(struct string*, string_handle_create, (const char*))                                           \
  X(void, sync_create, (void))                                                                     \
  X(void, no_such_function, (void))                                                                \
  X(void, task_begin, (struct domain*, struct itt_id, struct itt_id, struct string*))              \
  X(void, task_begin_ex,                                                                           \
    (struct domain*, void*, unsigned long long, struct itt_id, struct itt_id, struct string*))     \
  X(void, task_begin_fn, (struct domain*, struct itt_id, struct itt_id, void*))                    \
  X(void, task_end, (struct domain*))                                                              \
  X(void, task_end_ex, (struct domain*, void*, unsigned long long))                                \
  X(void, task_begin_overlapped, (struct domain*, struct itt_id, struct itt_id, struct string*))   \
  X(void, task_end_overlapped, (struct domain*, struct itt_id))                                    \
  X(void, frame_submit_v3,                                                                         \
    (struct domain*, struct itt_id*, unsigned long long, unsigned long long))                      \
  X(unsigned long long, get_timestamp, (void))                                                     \
  X(void, frame_begin_v3, (struct domain*, struct itt_id*))                                        \
  X(void, frame_end_v3, (struct domain*, struct itt_id*))                                          \
  X(void, region_begin, (struct domain*, struct itt_id, struct itt_id, struct string*))            \
  X(void, region_end, (struct domain*, struct itt_id))                                             \
  X(void, marker, (struct domain*, struct itt_id, struct string*, int))                            \
  X(struct counter*, counter_create_typed, (const char*, const char*, int))                        \
  X(void, counter_inc, (struct counter*))                                                          \
  X(void, counter_dec, (struct counter*))                                                          \
  X(void, counter_inc_delta, (struct counter*, unsigned long long))                                \
  X(void, counter_inc_delta_v3, (struct domain*, struct string*, unsigned long long))              \
  X(void, counter_set_value, (struct counter*, const void*))                                       \
  X(void, metadata_add, (struct domain*, struct itt_id, struct string*, int, size_t, const void*)) \
  X(void, metadata_str_add, (struct domain*, struct itt_id, struct string*, const char*, size_t))  \
  X(int, event_create, (const char*, int))                                                         \
  X(int, event_start, (int))                                                                       \
  X(int, event_end, (int))                                                                         \
  X(void*, frame_create, (const char*))                                                            \
  X(void, frame_begin, (void*))                                                                    \
  X(void, frame_end, (void*))                                                                      \
  X(int, mark_create, (const char*))                                                               \
  X(void, mark, (int, const char*))                                                                \
  X(void, thread_set_name, (const char*))                                                          \
  X(void, pause, (void))                                                                           \
  X(void, resume, (void))

#define ITT_TYPE(result, name, parameters) typedef result itt_##name parameters;
ITT_EACH(ITT_TYPE)
#define ITT_NAME(result, name, parameters) "__itt_" #name,
static const char* const kItt[] = {ITT_EACH(ITT_NAME)};
enum { ITT_FUNCTIONS = sizeof kItt / sizeof kItt[0] };

struct entry_old {
  const char* name;
  void** pointer;
  void* init;
  int group;
};
struct entry {
  const char* name;
  void** pointer;
  void* init;
  void* null;
  int group;
};

#define ITT_MAGIC \
  { 0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30 }
struct global {
  unsigned char magic[8];
  unsigned long major, minor, build;
  volatile long initialized, mutex_initialized, counter;
  pthread_mutex_t mutex;
  void* library;
  void* error_handler;
  const char** path;
  void* functions;
  void* next;
  void* threads;
  struct domain* domains;
  struct string* strings;
  void* lists[4];
};

struct copy {
  struct global global;
  struct entry entries[ITT_FUNCTIONS + 1];
  struct entry_old old_entries[ITT_FUNCTIONS + 1];
  void* functions[ITT_FUNCTIONS];
  void* own_create;
  int collected;
};

static inline void copy_unset(void) {
  fprintf(stderr, "the collector left a function alone\n");
  abort();
}

static inline void* copy_function(const struct copy* copy, const char* name) {
  for (int i = 0; i < ITT_FUNCTIONS; ++i) {
    if (strcmp(kItt[i] + strlen("__itt_"), name) == 0) return copy->functions[i];
  }
  abort();
}

/* `domains` were created before. */
static inline void copy_collect(struct copy* copy, int old, struct domain* domains) {
  static const unsigned char kMagic[8] = ITT_MAGIC;
  static char own[2]; /* stands for the copy's own domain_create and string_handle_create */
  memset(copy, 0, sizeof *copy);
  memcpy(copy->global.magic, kMagic, sizeof kMagic);
  copy->global.major = 3;
  copy->global.build = old ? 20101001 : 20180723;
  copy->own_create = old ? NULL : &own[0];
  void* unset = (void*)(uintptr_t)copy_unset;
  for (int i = 0; i < ITT_FUNCTIONS; ++i) {
    copy->functions[i] = unset;
    const struct entry entry = {kItt[i], &copy->functions[i], unset, i < 2 ? &own[i] : NULL,
                                1 << (i % 12 + 1)};
    const struct entry_old entry_old = {kItt[i], &copy->functions[i], unset, entry.group};
    copy->entries[i] = entry;
    copy->old_entries[i] = entry_old;
  }
  copy->global.domains = domains;
  copy->global.functions = old ? (void*)copy->old_entries : (void*)copy->entries;
  const char* path = getenv("INTEL_LIBITTNOTIFY64");
  void* library = path != NULL ? dlopen(path, RTLD_LAZY) : NULL;
  void (*init)(void*, int) = NULL;
  if (library != NULL) init = (void (*)(void*, int))(uintptr_t)dlsym(library, "__itt_api_init");
  if (init != NULL) {
    init(&copy->global, -1);
  } else {
    for (int i = 0; i < ITT_FUNCTIONS; ++i) copy->functions[i] = old ? NULL : copy->entries[i].null;
  }
  copy->collected = copy_function(copy, "task_begin") != NULL;
}

/* Objects live as long as the process, as those of the real library do. */
static inline void* itt_new(size_t size) {
  static _Alignas(16) unsigned char room[8192];
  static size_t used;
  void* memory = room + used;
  used += (size + 15) / 16 * 16;
  if (used > sizeof room) abort();
  return memory;
}
static inline struct domain* itt_domain(const char* name) {
  struct domain* domain = itt_new(sizeof *domain);
  domain->flags = 1;
  domain->name = strdup(name);
  return domain;
}
static inline struct string* itt_string(const char* text) {
  struct string* string = itt_new(sizeof *string);
  string->text = strdup(text);
  return string;
}
/* The spare fields of a real counter hold whatever malloc left. */
static inline struct counter* itt_counter(const char* name, const char* domain, int type) {
  struct counter* counter = itt_new(sizeof *counter);
  memset(counter, 0xa5, sizeof *counter);
  counter->name = strdup(name);
  counter->domain = domain != NULL ? strdup(domain) : NULL;
  counter->type = type;
  return counter;
}

#define ITT_RUN(copy, name, ...)                                                \
  do {                                                                          \
    itt_##name* function_ = (itt_##name*)(uintptr_t)copy_function(copy, #name); \
    if (function_ != NULL) function_(__VA_ARGS__);                              \
  } while (0)

#define ITT_CALL(copy, name, none, ...) \
  (copy_function(copy, #name) == NULL   \
       ? (none)                         \
       : ((itt_##name*)(uintptr_t)copy_function(copy, #name))(__VA_ARGS__))

#endif
