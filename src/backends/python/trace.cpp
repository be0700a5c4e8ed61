// libsonde-python.so: records every call of Python code in the domain "python", by CPython's hook
// for profilers.
//
// Loaded into a Python program by start/sitecustomize.py, which holds the GIL, as the interpreter
// does when it calls the hook: shared data needs no lock. The interpreter's functions are looked up
// by name, so one library serves all versions. Nothing here raises or inspects an exception, or
// changes what the program sees.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "backends/cpu/interpreter.h"
#include "backends/python/choice.h"
#include "base/errno_keeper.h"
#include "sonde/backend.h"

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Object;  // of Python
using Hook = int (*)(Object* argument, Object* frame, int what, Object* value);
using AuditHook = int (*)(const char* event, Object* arguments, void* data);
constexpr int kCall = 0, kReturn = 3;  // kReturn also when a function exits with an exception

struct Python {
  void (*set_profile)(Hook hook, Object* argument);
  int (*add_audit_hook)(AuditHook hook, void* data);  // from 3.8 on
  Object* (*code_of)(Object* frame);                  // a new reference; from 3.9 on
  Object* (*attribute)(Object* object, const char* name);
  const char* (*text)(Object* object, ssize_t* length);
  long (*number)(Object* object);
  void (*hold)(Object* object);
  void (*release)(Object* object);
  void (*clear_error)();
};
Python g_python;
const struct sonde_agent* g_agent = nullptr;

template <typename Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

bool find_python() {
  find(g_python.code_of, "PyFrame_GetCode");
  find(g_python.add_audit_hook, "PySys_AddAuditHook");
  return find(g_python.set_profile, "PyEval_SetProfile") &&
         find(g_python.attribute, "PyObject_GetAttrString") &&
         find(g_python.text, "PyUnicode_AsUTF8AndSize") && find(g_python.number, "PyLong_AsLong") &&
         find(g_python.hold, "Py_IncRef") && find(g_python.release, "Py_DecRef") &&
         find(g_python.clear_error, "PyErr_Clear");
}

// The code objects seen so far. Each is referenced, so that its address is not reused.
struct Known {
  Object* code;
  uint32_t function;  // the agent's id; 0: not traced
};
constexpr uint32_t kPlaces = 1 << 16, kMostKnown = kPlaces / 4 * 3;
Known g_known[kPlaces];
uint32_t g_known_count = 0;

// Copies a text attribute of a code object to `room`; empty if there is none.
void copy_text(Object* code, const char* name, char* room, size_t bytes) {
  room[0] = '\0';
  Object* object = g_python.attribute(code, name);
  ssize_t length = 0;
  const char* text = object != nullptr ? g_python.text(object, &length) : nullptr;
  if (text != nullptr) snprintf(room, bytes, "%s", text);
  if (object != nullptr) g_python.release(object);
  if (text == nullptr) g_python.clear_error();
}

uint32_t define(Object* code) {
  char file[1024], name[512], text[1600];
  copy_text(code, "co_filename", file, sizeof file);
  copy_text(code, "co_qualname", name, sizeof name);  // from 3.11 on
  if (name[0] == '\0') copy_text(code, "co_name", name, sizeof name);
  if (!sonde::python::is_chosen(file, name)) return 0;
  Object* line = g_python.attribute(code, "co_firstlineno");
  const long number = line != nullptr ? g_python.number(line) : 0;
  if (line != nullptr) g_python.release(line);
  g_python.clear_error();
  // The format of PyTorch's profiler, so that tools which know its frames recognise these.
  snprintf(text, sizeof text, "%s(%ld): %s", file, number, name);
  return g_agent->define_function("python", "python_function", text, "");
}

uint32_t function_of(Object* code) {
  const auto hash = reinterpret_cast<uint64_t>(code) * 0x9FB21C651E98DF25;
  for (uint64_t i = hash >> 48;; ++i) {
    Known& known = g_known[i % kPlaces];
    if (known.code == code) return known.function;
    if (known.code != nullptr) continue;
    if (g_known_count == kMostKnown) {
      g_agent->dropped("api calls", 1);
      return 0;
    }
    ++g_known_count;
    g_python.hold(code);
    known = {code, define(code)};
    return known.function;
  }
}

// The open calls of a thread, traced or not.
struct Entry {
  Object* frame;
  sonde_call call;
  uint64_t begin;      // for a call that is recorded when it ends
  uint32_t function;   // 0: not traced
  bool is_known_open;  // the agent has it as an open call; it keeps a limited number of these
};
constexpr uint32_t kMostKnownOpen = 100;
struct Calls {
  uint32_t count, room;
  Entry entries[1];
};
constinit thread_local Calls* t_calls = nullptr;
pthread_key_t g_end_key;

uint64_t bytes_for(uint32_t room) { return sizeof(Calls) + uint64_t{room} * sizeof(Entry); }

void forget_calls(void* calls) {
  munmap(calls, bytes_for(static_cast<Calls*>(calls)->room));
  t_calls = nullptr;
}

Entry* push() {
  if (t_calls == nullptr || t_calls->count == t_calls->room) {
    const uint32_t room = t_calls == nullptr ? 1024 : t_calls->room * 2;
    void* memory = t_calls == nullptr
                       ? mmap(nullptr, bytes_for(room), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                       : mremap(t_calls, bytes_for(t_calls->room), bytes_for(room), MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return nullptr;
    t_calls = static_cast<Calls*>(memory);
    t_calls->room = room;
    pthread_setspecific(g_end_key, t_calls);
  }
  return &t_calls->entries[t_calls->count++];
}

void enter(Object* frame) {
  Object* code =
      g_python.code_of != nullptr ? g_python.code_of(frame) : g_python.attribute(frame, "f_code");
  if (code == nullptr) return;
  const uint32_t function = function_of(code);
  g_python.release(code);
  Entry* entry = push();
  if (entry == nullptr) return;
  *entry = {frame, {}, 0, function, t_calls->count <= kMostKnownOpen};
  if (function == 0) return;
  if (entry->is_known_open) {
    entry->call = g_agent->call_begin(function, 0);
  } else {
    entry->begin = g_agent->ticks();
  }
}

// Calls that began before the hook was installed are unknown. Calls above one that ends were left
// without an event, as greenlets do.
void leave(Object* frame) {
  if (t_calls == nullptr) return;
  uint32_t at = t_calls->count;
  while (at > 0 && t_calls->entries[at - 1].frame != frame) --at;
  if (at == 0) return;
  while (t_calls->count >= at) {
    const Entry& entry = t_calls->entries[--t_calls->count];
    if (entry.function == 0) continue;
    if (entry.is_known_open) {
      g_agent->call_end(&entry.call, 0, nullptr, 0);
    } else {
      g_agent->call_at(entry.function, entry.begin, g_agent->ticks(), 0, nullptr, 0);
    }
  }
}

int on_event(Object*, Object* frame, int what, Object*) {
  const sonde::ErrnoKeeper keep;
  if (what == kCall) enter(frame);
  if (what == kReturn) leave(frame);
  return 0;
}

thread_local bool t_is_traced = false;

constexpr char kOtherProfiler[] =
    "--python-trace: the program set a profiler of its own (sys.setprofile(), cProfile, "
    "torch.profiler's with_stack); the calls of that thread are not recorded from there on";

// A thread has one profiler. Python announces that it gets another, not which.
int on_audit(const char* event, Object*, void*) {
  if (!t_is_traced || strcmp(event, "sys.setprofile") != 0) return 0;
  t_is_traced = false;
  static bool is_told = false;
  const sonde::ErrnoKeeper keep;
  if (!is_told) g_agent->diagnostic(SONDE_WARNING, "python", kOtherProfiler);
  is_told = true;
  return 0;
}

void trace_this_thread() {
  t_is_traced = false;
  g_python.set_profile(on_event, nullptr);
  t_is_traced = true;
}

// Calls that are open in the parent are not open in the child.
void after_fork_in_child() {
  if (t_calls != nullptr) t_calls->count = 0;
}

constexpr char kOnlyMain[] =
    "--python-trace: calls in interpreters but the main one are not recorded";

// From Python 3.12 on, another interpreter may have a lock and memory of its own.
bool may_not_be_traced() {
  if (!sonde::cpu::is_in_another_interpreter()) return false;
  if (dlsym(RTLD_DEFAULT, "Py_NewInterpreterFromConfig") != nullptr) return true;
  dlerror();
  return false;
}

}  // namespace

// Starts tracing the calling thread. Returns 0 if that is not possible.
SONDE_EXPORT int sonde_python_trace(const char* which) {
  const sonde::ErrnoKeeper keep;
  g_agent = sonde_find_agent();
  if (g_agent == nullptr || !find_python()) return 0;
  if (may_not_be_traced()) {
    static bool is_told = false;
    if (!is_told) g_agent->diagnostic(SONDE_INFO, "python", kOnlyMain);
    is_told = true;
    return 0;
  }
  if (!sonde::python::choose(which)) {
    g_agent->diagnostic(SONDE_WARNING, "python", "--python-trace: not a regular expression");
    return 0;
  }
  static const bool is_ready = pthread_key_create(&g_end_key, forget_calls) == 0 &&
                               pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
  if (!is_ready) return 0;
  if (g_python.add_audit_hook != nullptr) g_python.add_audit_hook(on_audit, nullptr);
  trace_this_thread();
  return 1;
}

// The same for a thread that was started later, from within a call of `frame`.
SONDE_EXPORT void sonde_python_trace_thread(void* frame) {
  const sonde::ErrnoKeeper keep;
  trace_this_thread();
  if (frame != nullptr) enter(static_cast<Object*>(frame));
}
