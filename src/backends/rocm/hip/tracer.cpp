// ROCm 5.3.1 to 7: one callback for calls and ops (hipRegisterTracerCallback).
//
// For a call, the runtime asks the callback whether to trace it, and gets two functions for its
// begin and end, which are passed the arguments. These functions are stored after the call's data,
// whose size depends on the version: for a version with an unknown size, ops are traced but calls
// are not.
#include <stdio.h>
#include <string.h>

#include "backends/rocm/hip/activity.h"
#include "backends/rocm/hip/frames.h"
#include "backends/rocm/hip/hip.h"
#include "backends/rocm/hip/nodes.h"
#include "base/errno_keeper.h"
#include "base/loaded_function.h"

namespace sonde::hip {
namespace {

constexpr int kTrace = 0;
constexpr int kDoNotTrace = 1;

constexpr uint32_t kNotAsked = ~0u;
uint32_t g_tail = kNotAsked;  // offset of TracerTail; 0 = unknown
bool g_tells_nodes = false;   // records give the kernel driver's node, not HIP's device number
int (*g_get_version)(int*);
RegisterTracer g_register;

uint32_t tail_of(int version) {
  const int major = version / 10000000;
  const int minor = version / 100000 % 100;
  g_tells_nodes = major > 5 || minor >= 7;  // as seen with 5.7.1 and 6.4.3
  if (major == 5) return 840;
  if (major == 6 && minor <= 4) return 1520;
  char text[160];
  snprintf(text, sizeof text,
           "HIP %d.%d has callbacks that this version of Sonde does not know: calls that the "
           "program finds by dlsym() are not recorded",
           major, minor);
  rocm::report(SONDE_WARNING, "hip", text);
  return 0;
}

// Ids have hardly changed between versions, but they are not guaranteed: the name decides.
const FunctionInfo* find_info(uint32_t id) {
  const char* name = g_name_of != nullptr ? g_name_of(id) : nullptr;
  const FunctionInfo* function = function_of_id(id);
  if (name == nullptr || (function != nullptr && strcmp(name, function->name) == 0))
    return function;
  return function_of_name(name);
}

const FunctionInfo& info_of(uint32_t id) {
  constexpr uint32_t kMaxId = 1000;
  static const FunctionInfo* known[kMaxId];  // a race between two threads is harmless
  if (id >= kMaxId) return kOther;
  const FunctionInfo* function = __atomic_load_n(&known[id], __ATOMIC_ACQUIRE);
  if (function == nullptr) {
    function = find_info(id);
    if (function == nullptr) function = &kOther;
    __atomic_store_n(&known[id], function, __ATOMIC_RELEASE);
  }
  return *function;
}

void on_enter(uint32_t id, void* data) {
  const FunctionInfo& function = info_of(id);
  if (function.count != 0) {
    look_at_parameters(function, static_cast<const char*>(data) + kArguments);
  }
  if (function.in_full && !rocm::g_hsa_reports_ops) remember_launch(rocm::t_launch);
}

void on_exit(uint32_t id, void* data) {
  Frames* frames = this_thread();
  if (frames == nullptr || frames->depth == 0) return;
  const FunctionInfo& function = info_of(id);
  const int result = result_of(frames, function);
  const ErrnoKeeper keep;
  Frame& frame = frames->frames[--frames->depth];
  end_call(function.count != 0 ? &function : nullptr, static_cast<const char*>(data) + kArguments,
           result, frame.open);
}

// Asks the runtime in its first call: while it loads us, it cannot be called.
uint32_t tail(Frames* frames) {
  uint32_t known = __atomic_load_n(&g_tail, __ATOMIC_RELAXED);
  if (known != kNotAsked) return known;
  int version = 0;
  frames->asking = true;
  if (g_get_version != nullptr) g_get_version(&version);
  frames->asking = false;
  known = tail_of(version);
  __atomic_store_n(&g_tail, known, __ATOMIC_RELAXED);
  return known;
}

void on_nothing(uint32_t, void*) {}

// A call that came through one of our functions only needs its number passed to HIP, so that the
// ops that HIP reports have it.
int number_call(char* data) {
  const rocm::Launch& launch = rocm::t_launch;
  if (rocm::g_hsa_reports_ops || launch.correlation == 0) return kDoNotTrace;
  remember_launch(launch);
  memcpy(data, &launch.correlation, sizeof launch.correlation);
  const TracerTail functions = {0, 0, on_nothing, on_nothing};
  memcpy(data + g_tail, &functions, sizeof functions);
  return kTrace;
}

int on_call(uint32_t id, char* data) {
  if (data == nullptr || id < kFirstId) return kDoNotTrace;
  if (!called_by_name()) rocm::t_called = info_of(id).name;
  if (!rocm::recording()) return kDoNotTrace;
  if (called_by_name() && rocm::g_hsa_reports_ops) return kDoNotTrace;
  Frames* frames = this_thread();
  if (frames == nullptr || frames->asking || tail(frames) == 0) return kDoNotTrace;
  if (called_by_name()) return number_call(data);
  if (frames->depth >= kMaxDepth) {
    rocm::agent().dropped("calls", 1);
    return kDoNotTrace;
  }
  const FunctionInfo& function = info_of(id);
  OpenCall* open = &frames->frames[frames->depth++].open;
  begin_call(function, defined_as(id, function), open);
  memcpy(data, &open->call.correlation, sizeof open->call.correlation);
  const TracerTail functions = {0, 0, on_enter, on_exit};
  memcpy(data + tail(frames), &functions, sizeof functions);
  return kTrace;
}

int on_op(const void* data) {
  if (rocm::g_hsa_reports_ops) return kDoNotTrace;
  if (data == nullptr) return kTrace;  // only a query whether to trace
  ActivityRecord record;
  memcpy(&record, data, sizeof record);
  if (g_tells_nodes) record.device = gpu_of_node(record.device);
  uint32_t name = 0;
  if (record.op == kOpDispatch && record.kernel_name != nullptr) {
    name = rocm::agent().intern(record.kernel_name, strlen(record.kernel_name));
  }
  record_op(record, name, launch_of(record.correlation));
  return kTrace;
}

int on_event(uint32_t domain, uint32_t operation, void* data) {
  if (domain == kDomainApi) return on_call(operation, static_cast<char*>(data));
  if (domain == kDomainOps) return on_op(data);
  return kDoNotTrace;
}

}  // namespace

bool register_tracer(void* library) {
  RegisterTracer tracer;
  if (!find_function(library, "hipRegisterTracerCallback", tracer)) return false;
  find_answers(library);
  find_function(library, "hipRuntimeGetVersion", g_get_version);
  tracer(on_event);
  g_register = tracer;
  return true;
}

void end_tracer() {
  if (g_register != nullptr) g_register(nullptr);
}

}  // namespace sonde::hip
