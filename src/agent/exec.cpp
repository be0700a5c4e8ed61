// The exec family, interposed. Runs also between vfork and exec: no heap, no state is changed; the
// new environment is built on the stack.
#include "agent/exec.h"

#include <alloca.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment_merge.h"

extern char** environ;

namespace sonde::agent {

namespace {

constexpr size_t kMaxInject = 16 * 1024;
char g_inject[kMaxInject];  // the value of SONDE_INJECT, "" when not recorded

size_t count_entries(char* const* list) {
  size_t count = 0;
  while (list != nullptr && list[count] != nullptr) ++count;
  return count;
}

struct Need {
  size_t entries = 0, bytes = 0;
};

const char* find_value(char* const* environment, const InjectItem& item, size_t* index) {
  for (size_t i = 0; environment != nullptr && environment[i] != nullptr; ++i) {
    if (const char* value = value_of(environment[i], item)) {
      *index = i;
      return value;
    }
  }
  return nullptr;
}

// How much room the merged environment takes at most.
[[maybe_unused]] Need measure(char* const* environment) {
  Need need;
  need.entries = count_entries(environment) + 2;
  need.bytes = sizeof "SONDE_INJECT=" + strlen(g_inject);
  const char* cursor = g_inject;
  InjectItem item;
  for (size_t index = 0; next_inject_item(&cursor, &item);) {
    const char* old = find_value(environment, item, &index);
    ++need.entries;
    need.bytes += item.name_length + item.value_length + (old != nullptr ? strlen(old) : 0) + 3;
  }
  return need;
}

char* append(char* to, const char* text, size_t length) {
  memcpy(to, text, length);
  return to + length;
}

// "NAME=VALUE[:OLD]" at `text`; returns the place behind it.
char* write_entry(char* text, const InjectItem& item, const char* old) {
  text = append(text, item.name, item.name_length);
  *text++ = '=';
  text = append(text, item.value, item.value_length);
  if (item.mode == '+' && old != nullptr && *old != '\0') {
    *text++ = ':';
    text = append(text, old, strlen(old));
  }
  *text++ = '\0';
  return text;
}

[[maybe_unused]] void merge(char* const* environment, char** entries, char* text) {
  size_t count = count_entries(environment);
  memcpy(entries, environment, count * sizeof(char*));
  entries[count] = nullptr;
  const char* cursor = g_inject;
  InjectItem item;
  for (size_t index = count; next_inject_item(&cursor, &item); index = count) {
    const char* old = find_value(entries, item, &index);
    if (old != nullptr &&
        (item.mode == '?' ||
         (item.mode == '+' && list_contains(old, item.value, item.value_length)))) {
      continue;
    }
    if (old == nullptr) entries[index = count++] = nullptr;
    entries[index] = text;
    text = write_entry(text, item, old);
    entries[count] = nullptr;
  }
  const InjectItem self = {"SONDE_INJECT", 12, '=', g_inject, strlen(g_inject)};
  size_t index = count;
  if (find_value(entries, self, &index) == nullptr) {
    entries[count++] = text;
    write_entry(text, self, nullptr);
    entries[count] = nullptr;
  }
}

// An unchanged list where there is nothing to add (the usual case).
[[maybe_unused]] bool needs_merge(char* const* environment) {
  const char* cursor = g_inject;
  InjectItem item;
  for (size_t index = 0; next_inject_item(&cursor, &item);) {
    const char* old = find_value(environment, item, &index);
    if (old == nullptr) return true;
    if (item.mode == '+' && !list_contains(old, item.value, item.value_length)) return true;
  }
  return false;
}

}  // namespace

void remember_environment() {
  const char* inject = getenv("SONDE_INJECT");
  if (inject != nullptr && strlen(inject) < kMaxInject) strcpy(g_inject, inject);
}

}  // namespace sonde::agent

// The merged list lives in the caller's frame.
#define SONDE_MERGED(environment)                                               \
  char** merged = const_cast<char**>(environment);                              \
  if (sonde::agent::g_inject[0] != '\0' && sonde::agent::needs_merge(merged)) { \
    const auto need = sonde::agent::measure(merged);                            \
    char** entries = static_cast<char**>(alloca(need.entries * sizeof(char*))); \
    char* text = static_cast<char*>(alloca(need.bytes));                        \
    sonde::agent::merge(merged, entries, text);                                 \
    merged = entries;                                                           \
  }

#define SONDE_REAL(name) reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name))
#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

#ifndef SONDE_AGENT_STATIC

SONDE_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) {
  SONDE_MERGED(environment);
  return SONDE_REAL(execve)(path, arguments, merged);
}

SONDE_EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment) {
  SONDE_MERGED(environment);
  return SONDE_REAL(execvpe)(file, arguments, merged);
}

SONDE_EXPORT int execv(const char* path, char* const* arguments) {
  return execve(path, arguments, environ);
}

SONDE_EXPORT int execvp(const char* file, char* const* arguments) {
  return execvpe(file, arguments, environ);
}

SONDE_EXPORT int fexecve(int fd, char* const* arguments, char* const* environment) {
  SONDE_MERGED(environment);
  return SONDE_REAL(fexecve)(fd, arguments, merged);
}

SONDE_EXPORT int execveat(int fd, const char* path, char* const* arguments,
                          char* const* environment, int flags) {
  SONDE_MERGED(environment);
  return SONDE_REAL(execveat)(fd, path, arguments, merged, flags);
}

SONDE_EXPORT int posix_spawn(pid_t* pid, const char* path,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const* arguments,
                             char* const* environment) {
  SONDE_MERGED(environment);
  return SONDE_REAL(posix_spawn)(pid, path, actions, attributes, arguments, merged);
}

SONDE_EXPORT int posix_spawnp(pid_t* pid, const char* file,
                              const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* arguments,
                              char* const* environment) {
  SONDE_MERGED(environment);
  return SONDE_REAL(posix_spawnp)(pid, file, actions, attributes, arguments, merged);
}

// The variadic ones: their arguments become an array on the stack.
#define SONDE_COLLECT(first)                                                   \
  va_list list;                                                                \
  va_start(list, first);                                                       \
  size_t count = 1;                                                            \
  while (va_arg(list, char*) != nullptr) ++count;                              \
  va_end(list);                                                                \
  char** arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  va_start(list, first);                                                       \
  arguments[0] = const_cast<char*>(first);                                     \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*);

SONDE_EXPORT int execl(const char* path, const char* first, ...) {
  SONDE_COLLECT(first);
  va_end(list);
  return execve(path, arguments, environ);
}

SONDE_EXPORT int execlp(const char* file, const char* first, ...) {
  SONDE_COLLECT(first);
  va_end(list);
  return execvpe(file, arguments, environ);
}

SONDE_EXPORT int execle(const char* path, const char* first, ...) {
  SONDE_COLLECT(first);
  char** environment = va_arg(list, char**);
  va_end(list);
  return execve(path, arguments, environment);
}

#endif
