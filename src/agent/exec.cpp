// The exec family, interposed. Also runs between vfork and exec: it uses no heap and changes no
// state, and builds the new environment on the stack.
#include "agent/exec.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/state.h"
#include "base/environment_merge.h"
#include "base/errno_keeper.h"
#include "base/next_function.h"

namespace sonde::agent {

namespace {

constexpr size_t kMaxInject = 16 * 1024;
char g_inject[kMaxInject];  // the value of SONDE_INJECT, "" when not recorded
// The preloaded libraries: one path after the other, each with its NUL, and then another one.
// Ready, because a process that is about to exec may have a stack of 4 KiB.
char g_libraries[kMaxInject];

#ifndef SONDE_AGENT_STATIC

// An environment made for another recorder's children is left alone.
bool is_of_another(char* const* environment) {
  const InjectItem own = inject_itself(g_inject);
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const char* value = value_of(*environment, own);
    if (value != nullptr) return strcmp(value, g_inject) != 0;
  }
  return false;
}

// Other errors, of a lack of descriptors for example, say nothing of what the loader will meet.
bool is_out_of_reach(int error) {
  return error == EACCES || error == EPERM || error == ENOENT || error == ENOTDIR || error == ELOOP;
}

// Whether a preloaded library is missing or unreadable: the process may have another root by now,
// run as another user, with rights that exec takes away (access() knows), or in Landlock's sandbox
// (open() knows). The loader would complain about each file, and rocprofiler-register, whose
// library is one of them, would terminate the program.
bool files_are_out_of_reach() {
  const ErrnoKeeper keep;
  for (const char* path = g_libraries; *path != '\0'; path += strlen(path) + 1) {
    if (access(path, R_OK) != 0 && is_out_of_reach(errno)) return true;
    // Not by libc's functions, in which a thread may be cancelled: exec is not one of those.
    const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && is_out_of_reach(errno)) return true;
    if (fd >= 0) syscall(SYS_close, fd);
  }
  return false;
}

enum class Change { kNone, kMerge, kStrip };

Change wanted_change(char* const* environment) {
  if (g_inject[0] == '\0' || is_of_another(environment)) return Change::kNone;
  if (load(g_state.silent) != 0) return Change::kStrip;  // the new program inherits the sandbox
  if (files_are_out_of_reach()) return Change::kStrip;
  return merge_is_needed(environment, g_inject) ? Change::kMerge : Change::kNone;
}

using Exec = int (*)(const char*, char* const*, char* const*);
using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                      const posix_spawnattr_t*, char* const*, char* const*);
struct Next {
  NextFunction<Exec> execve{"execve"}, execvpe{"execvpe"};
  NextFunction<int (*)(int, char* const*, char* const*)> fexecve{"fexecve"};
  NextFunction<int (*)(int, const char*, char* const*, char* const*, int)> execveat{"execveat"};
  NextFunction<Spawn> posix_spawn{"posix_spawn"}, posix_spawnp{"posix_spawnp"};
  NextFunction<int (*)(const char*)> chroot{"chroot"};
};
constinit Next g_next;

#endif

}  // namespace

void remember_environment() {
  const char* inject = getenv("SONDE_INJECT");
  if (inject == nullptr || strlen(inject) >= kMaxInject) return;
  strcpy(g_inject, inject);
  char* end = g_libraries;
  const char* cursor = g_inject;
  for (InjectItem item; next_inject_item(&cursor, &item);) {
    if (item.name_length != 10 || memcmp(item.name, "LD_PRELOAD", 10) != 0) continue;
    for_each_part(item.value, item.value_length, ':', [&](const char* part, size_t length) {
      if (length == 0) return;
      end = static_cast<char*>(memcpy(end, part, length)) + length;
      *end++ = '\0';
    });
  }
  *end = '\0';
}

#ifndef SONDE_AGENT_STATIC
void find_next_exec() {
  find_all(g_next.execve, g_next.execvpe, g_next.fexecve, g_next.execveat, g_next.posix_spawn,
           g_next.posix_spawnp, g_next.chroot);
}
#endif

}  // namespace sonde::agent

// The changed list lives in the caller's stack frame.
#define SONDE_MERGED(environment)                                                    \
  char** merged = const_cast<char**>(environment);                                   \
  const auto change = sonde::agent::wanted_change(merged);                           \
  if (change != sonde::agent::Change::kNone) {                                       \
    const auto room = sonde::merge_room(merged, sonde::agent::g_inject);             \
    char** entries = static_cast<char**>(alloca(room.entries * sizeof(char*)));      \
    char* text = static_cast<char*>(alloca(room.bytes));                             \
    (change == sonde::agent::Change::kMerge                                          \
         ? sonde::merge_environment                                                  \
         : sonde::strip_environment)(merged, sonde::agent::g_inject, entries, text); \
    merged = entries;                                                                \
  }

#define SONDE_REAL(name) sonde::agent::g_next.name.get()
#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

#ifndef SONDE_AGENT_STATIC

// system() and popen() start programs through libc-internal calls, with the process environment.
static void strip_own_environment() {
  using namespace sonde;
  const ErrnoKeeper keep;
  const bool own = static_cast<pid_t>(agent::g_state.pid) == getpid() || agent::is_new_child();
  if (!own || agent::wanted_change(environ) != agent::Change::kStrip) return;
  const auto room = merge_room(environ, agent::g_inject);
  const size_t table_bytes = room.entries * sizeof(char*);
  auto* memory = static_cast<char*>(malloc(table_bytes + room.bytes));  // stays
  if (memory == nullptr) return;
  auto** entries = reinterpret_cast<char**>(memory);
  strip_environment(environ, agent::g_inject, entries, memory + table_bytes);
  environ = entries;
}

SONDE_EXPORT int chroot(const char* path) {
  const int result = SONDE_REAL(chroot)(path);
  if (result == 0) strip_own_environment();
  return result;
}

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

#define SONDE_SPAWN(name)                                                                      \
  SONDE_EXPORT int name(                                                                       \
      pid_t* pid, const char* program, const posix_spawn_file_actions_t* actions,              \
      const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) { \
    SONDE_MERGED(environment);                                                                 \
    return SONDE_REAL(name)(pid, program, actions, attributes, arguments, merged);             \
  }
SONDE_SPAWN(posix_spawn)
SONDE_SPAWN(posix_spawnp)

// The variadic variants: their arguments become an array on the stack.
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
