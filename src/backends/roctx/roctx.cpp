// Replaces the ROCTX libraries in a traced program and reports to the agent.
//
// There is no hook to register with: the library is preloaded, so that its functions are found
// first, and is on LD_LIBRARY_PATH under the names of the originals for programs that open them by
// name. What a program sees (levels, ids, return codes) is what the original would return, with or
// without an agent.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/markers/markers.h"
#include "backends/roctx/roctx_abi.h"

namespace {

using namespace sonde::markers;
using namespace sonde::roctx;

Connection g_connection;
int g_paused;
roctx_tracer_callback g_callback;
__thread int t_level;

const Agent* agent() { return connect(g_connection, "roctx"); }

// A tool inside the program (roctracer, as used by PyTorch's profiler) still receives what the
// original library would report.
void tell_tracer(Operation operation, const char* message, uint64_t id) {
  const roctx_tracer_callback callback = __atomic_load_n(&g_callback, __ATOMIC_ACQUIRE);
  if (callback == nullptr) return;
  CallbackData data = {message, id};
  callback(kActivityDomain, operation, &data);
}

void pass_on(const char* function) {
  const sonde::ErrnoKeeper keep;
  void* symbol = dlsym(RTLD_NEXT, function);
  if (symbol == nullptr) return;
  void (*next)();
  memcpy(&next, &symbol, sizeof next);
  next();
}

int name_object(const char* kind, uint64_t id, const char* format, const char* name) {
  const Agent* to = agent();
  if (to == nullptr || name == nullptr) return 0;
  const sonde::ErrnoKeeper keep;
  char number[24];
  char key[64];
  snprintf(number, sizeof number, format, static_cast<unsigned long>(id));
  snprintf(key, sizeof key, "name.%s.%s", kind, number);
  to->metadata(key, name);
  return 0;
}

}  // namespace

uint32_t roctx_version_major(void) { return kVersionMajor; }
uint32_t roctx_version_minor(void) { return kVersionMinor; }

void roctxMarkA(const char* message) {
  const Agent* to = agent();
  if (to != nullptr) to->mark(g_connection.domain, 0, text_or_empty(message));
  tell_tracer(kMark, message, 0);
}

int roctxRangePushA(const char* message) {
  const Agent* to = agent();
  if (to != nullptr) to->range_push(g_connection.domain, 0, text_or_empty(message));
  tell_tracer(kPush, message, 0);
  return t_level++;
}

int roctxRangePop(void) {
  const Agent* to = agent();
  tell_tracer(kPop, nullptr, 0);
  if (t_level == 0) return -1;
  if (to != nullptr) to->range_pop(g_connection.domain);
  return --t_level;
}

uint64_t roctxRangeStartA(const char* message) {
  const uint64_t id = start_range(agent(), g_connection.domain, 0, text_or_empty(message));
  tell_tracer(kStart, message, id);
  return id;
}

void roctxRangeStop(uint64_t id) {
  stop_range(agent(), id);
  tell_tracer(kStop, nullptr, id);
}

void roctxRegisterTracerCallback(roctx_tracer_callback callback) {
  __atomic_store_n(&g_callback, callback, __ATOMIC_RELEASE);
}

// The thread argument is ignored, as by rocprofv3: the whole process is paused.
int roctxProfilerPause(uint64_t) {
  pause_recording(agent(), g_paused);
  return 0;
}

int roctxProfilerResume(uint64_t) {
  resume_recording(agent(), g_paused);
  return 0;
}

// Also calls roctracer itself, if the program has it.
void roctracer_start() {
  resume_recording(agent(), g_paused);
  pass_on("roctracer_start");
}

void roctracer_stop() {
  pause_recording(agent(), g_paused);
  pass_on("roctracer_stop");
}

int roctxNameOsThread(const char* name) {
  const Agent* to = agent();
  if (to != nullptr && name != nullptr) to->name_thread(0, name);
  return 0;
}

// An HSA agent handle is a struct with one 64-bit member.
int roctxNameHsaAgent(const char* name, const void* hsa_agent) {
  if (hsa_agent == nullptr) return 0;
  return name_object("hsa_agent", *static_cast<const uint64_t*>(hsa_agent), "0x%lx", name);
}

int roctxNameHipDevice(const char* name, int device) {
  return name_object("hip_device", static_cast<uint64_t>(device), "%ld", name);
}

int roctxNameHipStream(const char* name, const void* stream) {
  return name_object("hip_stream", reinterpret_cast<uintptr_t>(stream), "0x%lx", name);
}

int roctxGetThreadId(uint64_t* thread) {
  if (thread != nullptr) *thread = static_cast<uint64_t>(syscall(SYS_gettid));
  return 0;
}
