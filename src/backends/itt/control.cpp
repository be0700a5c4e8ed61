// ITT's collection control and thread names, and its legacy events, marks and frames, which are
// created by name and then used by number or handle.
#include <pthread.h>
#include <stdlib.h>

#include "backends/itt/collector.h"

namespace sonde::itt {
namespace {

// Names of events and marks; a number is a position + 1. The same name has the same number.
constexpr size_t kMaxNames = 1024;
struct NameList {
  char* names[kMaxNames];
};
NameList g_events;
NameList g_marks;

int number_of(NameList& list, const char* name, size_t length) {
  const ErrnoKeeper keep;
  char* added = nullptr;
  for (size_t i = 0; i < kMaxNames; ++i) {
    char* known = __atomic_load_n(&list.names[i], __ATOMIC_ACQUIRE);
    if (known == nullptr && added == nullptr) {
      added = static_cast<char*>(malloc(length + 1));
      if (added == nullptr) return 0;
      memcpy(added, name, length);
      added[length] = '\0';
    }
    if (known == nullptr && __atomic_compare_exchange_n(&list.names[i], &known, added, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      return static_cast<int>(i) + 1;
    }
    if (strlen(known) == length && memcmp(known, name, length) == 0) {
      free(added);
      return static_cast<int>(i) + 1;
    }
  }
  free(added);
  return 0;
}

const char* name_of(const NameList& list, int number) {
  if (number < 1 || static_cast<size_t>(number) > kMaxNames) return nullptr;
  return __atomic_load_n(&list.names[number - 1], __ATOMIC_ACQUIRE);
}

void pause() { markers::pause_recording(agent(), g_state.paused); }
void resume() { markers::resume_recording(agent(), g_state.paused); }
void pause_scoped(int) { pause(); }
void resume_scoped(int) { resume(); }

void thread_set_name(const char* name) {
  if (name != nullptr) agent()->name_thread(0, name);
}
int thr_name_set(const char* name, int length) {
  if (name == nullptr || length < 0) return 1;
  agent()->name_thread(
      0, Joined(name, strnlen(name, static_cast<size_t>(length)), "", 0, "", 0).text());
  return 0;
}

int event_create(const char* name, int length) {
  if (name == nullptr || length < 0) return 0;
  return number_of(g_events, name, strnlen(name, static_cast<size_t>(length)));
}

// A program may start events that it never ends; those that cannot be kept open become marks.
RangeKey event_key(int event) {
  return range_key(0, kEvent, {static_cast<unsigned>(event), pthread_self(), 0});
}
int event_start(int event) {
  const char* name = name_of(g_events, event);
  if (name == nullptr) return 1;
  const uint32_t category = intern("event");
  if (!begin_keyed_range(event_key(event), g_state.connection.domain, category, name)) {
    agent()->mark(g_state.connection.domain, category, name);
  }
  return 0;
}
int event_end(int event) {
  if (name_of(g_events, event) == nullptr) return 1;
  end_keyed_range(event_key(event));
  return 0;
}

int mark_create(const char* name) {
  return name != nullptr ? number_of(g_marks, name, strlen(name)) : 0;
}
int mark(int type, const char* parameter) {
  const char* name = name_of(g_marks, type);
  if (name == nullptr) return 1;
  const bool plain = parameter == nullptr || parameter[0] == '\0';
  const Joined text(name, plain ? "" : " ", plain ? "" : parameter);
  agent()->mark(g_state.connection.domain, 0, text.text());
  return 0;
}

// A legacy frame is a name; its handle is the address of a permanent copy.
const char* frame_create(const char* domain) {
  const ErrnoKeeper keep;
  return domain != nullptr ? strdup(domain) : nullptr;
}
RangeKey frame_key(const char* frame) {
  return range_key(reinterpret_cast<uintptr_t>(frame), kFrame, {pthread_self(), 0, 0});
}
void frame_begin(const char* frame) {
  if (frame == nullptr) return;
  if (!begin_keyed_range(frame_key(frame), intern(frame), intern("frame"), frame)) {
    agent()->dropped("itt", 1);
  }
}
void frame_end(const char* frame) {
  if (frame != nullptr) end_keyed_range(frame_key(frame));
}

}  // namespace

FunctionTable control_functions() {
  static const NamedFunction kFunctions[] = {SONDE_ITT(pause),
                                             SONDE_ITT(resume),
                                             SONDE_ITT(pause_scoped),
                                             SONDE_ITT(resume_scoped),
                                             SONDE_ITT(thread_set_name),
                                             SONDE_ITT(thr_name_set),
                                             SONDE_ITT(event_create),
                                             SONDE_ITT(event_start),
                                             SONDE_ITT(event_end),
                                             SONDE_ITT(mark_create),
                                             SONDE_ITT(mark),
                                             SONDE_ITT_AS(mark_global, mark),
                                             SONDE_ITT(frame_create),
                                             SONDE_ITT(frame_begin),
                                             SONDE_ITT(frame_end)};
  return kFunctions;
}

}  // namespace sonde::itt
