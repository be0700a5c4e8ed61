// ROCm 5.3.1 to 7: one callback for calls and ops (hipRegisterTracerCallback).
//
// For a call it is asked whether to trace it, and gives two functions for its begin and end, which
// get the arguments. They are written behind the data of the call, whose size is one of a few: for
// a version it is not known for, calls are not traced and ops are.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backends/rocm/hip/activity.h"
#include "backends/rocm/hip/frames.h"
#include "backends/rocm/hip/hip.h"
#include "backends/rocm/hip/nodes.h"
#include "base/errno_keeper.h"

namespace sonde::hip {
namespace {

constexpr int kTrace = 0;
constexpr int kDoNotTrace = 1;

constexpr uint32_t kNotAsked = ~0u;
uint32_t g_tail = kNotAsked;  // where TracerTail is; 0 = not known
bool g_tells_nodes = false;   // a record's device is the kernel driver's node, not HIP's number
int (*g_get_version)(int*);
int (*g_peek_error)();
const char* (*g_name_of)(uint32_t id);
RegisterTracer g_register;

uint32_t tail_of(int version) {
  const int major = version / 10000000;
  const int minor = version / 100000 % 100;
  g_tells_nodes = major > 5 || minor >= 7;  // as seen of 5.7.1 and 6.4.3
  if (major == 5) return 840;
  if (major == 6 && minor <= 4) return 1520;
  char text[160];
  snprintf(text, sizeof text,
           "HIP %d.%d is not a version whose callbacks this version of Sonde knows: calls that the "
           "program finds by dlsym() are not recorded",
           major, minor);
  rocm::report(SONDE_WARNING, "hip", text);
  return 0;
}

const FunctionInfo kOther = {"", Category::device, true, false, false, 0, 0, {}, 0, false};

// Ids moved little between versions, but they are not promised to stay: the name counts.
const FunctionInfo* find_info(uint32_t id) {
  const char* name = g_name_of != nullptr ? g_name_of(id) : nullptr;
  const FunctionInfo* function = function_of_id(id);
  if (name == nullptr || (function != nullptr && strcmp(name, function->name) == 0))
    return function;
  return function_of_name(name);
}

const FunctionInfo& info_of(uint32_t id) {
  constexpr uint32_t kMaxId = 1000;
  static const FunctionInfo* known[kMaxId];  // two threads that look for one at once do no harm
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
  int result = 0;
  if (function.in_full && g_peek_error != nullptr) {
    frames->asking = true;
    result = g_peek_error();
    frames->asking = false;
  }
  const ErrnoKeeper keep;
  Frame& frame = frames->frames[--frames->depth];
  end_call(function.count != 0 ? &function : nullptr, static_cast<const char*>(data) + kArguments,
           result, frame.open);
}

// Asked of the runtime in its first call: while it loads us it is not ready to be called.
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

// Of a call that came through one of our functions HIP has only to know the number, so that the
// ops it reports have it.
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
  begin_call(function, function.defined != 0 ? function.defined : define_unknown(id, g_name_of),
             open);
  memcpy(data, &open->call.correlation, sizeof open->call.correlation);
  const TracerTail functions = {0, 0, on_enter, on_exit};
  memcpy(data + tail(frames), &functions, sizeof functions);
  return kTrace;
}

int on_op(const void* data) {
  if (rocm::g_hsa_reports_ops) return kDoNotTrace;
  if (data == nullptr) return kTrace;  // only asks
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

template <typename T>
void find(void* library, const char* name, T* function) {
  void* symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
}

}  // namespace

bool register_tracer(void* library) {
  RegisterTracer tracer;
  find(library, "hipRegisterTracerCallback", &tracer);
  if (tracer == nullptr) return false;
  find(library, "hipPeekAtLastError", &g_peek_error);
  find(library, "hipApiName", &g_name_of);
  find(library, "hipRuntimeGetVersion", &g_get_version);
  tracer(on_event);
  g_register = tracer;
  return true;
}

void end_tracer() {
  if (g_register != nullptr) g_register(nullptr);
}

}  // namespace sonde::hip
