// HIP's own callbacks, of ROCm 5.2 and before: one for the start and end of every call, and one for
// the ops that calls launch.
//
// The runtime asks the activity callback for memory for the arguments, calls the API callback with
// it when the call begins and ends, and then forgets it. It does not report the call's result,
// which is read from the thread's last error instead.
#include <dlfcn.h>
#include <string.h>

#include "backends/rocm/hip/activity.h"
#include "backends/rocm/hip/frames.h"
#include "backends/rocm/hip/hip.h"
#include "backends/rocm/hip/interpose.h"
#include "base/errno_keeper.h"
#include "base/loaded_function.h"

namespace sonde::hip {
namespace {

using rocm::agent;
using rocm::recording;

EnableActivity g_enable;
RegisterCallback g_set_activity, g_set_api;

// Provides memory for the arguments of the call that begins. Also called after its end, to no
// effect.
void* provide_data(uint32_t id, void* record, const void*, void*) {
  if (record != nullptr || called_by_name()) return nullptr;
  if (id == kProfilerStart52 || id == kProfilerStop52) switch_recording(id == kProfilerStart52);
  Frames* frames = this_thread();
  if (frames == nullptr || frames->asking || !recording()) return nullptr;
  if (frames->depth >= kMaxDepth) {
    agent().dropped("calls", 1);
    return nullptr;
  }
  char* data = frames->frames[frames->depth].data;
  memset(data, 0, sizeof(ApiData));  // the runtime sets the phase only at the end
  return data;
}

void on_begin(Frames* frames, uint32_t id, const char* data) {
  const FunctionInfo* known = function_of_id(id);
  const FunctionInfo& function = known != nullptr ? *known : kOther;
  begin_call(function, defined_as(id, function), &frames->frames[frames->depth++].open);
  look_at_parameters(function, data);
}

void on_api(uint32_t, uint32_t id, const void* data, void*) {
  const auto* header = static_cast<const ApiData*>(data);
  if (header == nullptr) return;
  Frames* frames = this_thread();
  const char* arguments = static_cast<const char*>(data) + kArguments;
  if (header->phase == kPhaseEnter) return on_begin(frames, id, arguments);
  if (frames->depth == 0) return;
  const FunctionInfo* function = function_of_id(id);
  const int result = function != nullptr ? result_of(frames, *function) : 0;
  const ErrnoKeeper keep;
  Frame& frame = frames->frames[--frames->depth];
  end_call(function, arguments, result, frame.open);
}

void set_calls(void* provide, void* tell) {
  for (uint32_t id = kFirstId; id <= kLastId52; ++id) {
    g_set_activity(id, provide, nullptr);
    g_set_api(id, tell, nullptr);
  }
}

bool register_old_callbacks(void* library) {
  InitActivity init;
  EnableActivity enable;
  if (!find_function(library, "hipRegisterActivityCallback", g_set_activity) ||
      !find_function(library, "hipRegisterApiCallback", g_set_api) ||
      !find_function(library, "hipInitActivityCallback", init) ||
      !find_function(library, "hipEnableActivityCallback", enable)) {
    return false;
  }
  find_answers(library);
  find_kernel_names(library);
  g_enable = enable;
  init(reinterpret_cast<void*>(launched), reinterpret_cast<void*>(finished), nullptr);
  for (uint32_t op = 0; op < kOpIds; ++op) enable(op, !rocm::g_hsa_reports_ops);
  set_calls(reinterpret_cast<void*>(provide_data), reinterpret_cast<void*>(on_api));
  return true;
}

}  // namespace

void* loaded_library() {
  constexpr const char* kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                    "libamdhip64.so.4", "libamdhip64.so"};
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  }
  return find_loaded_library("/libamdhip64");
}

bool has_newer_data() {
  struct Known {
    const char* name;
    bool is_newer;
  };
  constexpr Known kKnown[] = {{"libamdhip64.so.7", true},
                              {"libamdhip64.so.6", true},
                              {"libamdhip64.so.5", false},
                              {"libamdhip64.so.4", false}};
  for (const Known& known : kKnown) {
    void* library = dlopen(known.name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    dlclose(library);
    return known.is_newer;
  }
  const auto ours = reinterpret_cast<const void*>(has_newer_data);
  return find_loaded_function("hipGetDevicePropertiesR0600", ours) != nullptr;
}

// In ROCm 5.2, a thread that is in a call keeps the callbacks that the call began with. Whether
// earlier versions do is unknown; they are recognised by the last function name, because asking for
// the version would initialise a runtime that the program has only loaded.
const char* begin_attached() {
  void* library = loaded_library();
  if (library == nullptr) return "the program has not loaded HIP";
  prepare_functions(has_newer_data());
  if (register_tracer(library)) return nullptr;
  constexpr const char* kLastName52 = "hipMemUnmap";
  find_answers(library);
  if (g_name_of == nullptr || strcmp(g_name_of(kLastId52), kLastName52) != 0) {
    return "this HIP is older than 5.2, or cannot report its calls";
  }
  rocm::g_hip_callbacks = register_old_callbacks(library);
  return rocm::g_hip_callbacks ? nullptr : "this HIP cannot report its calls";
}

void end_attached() {
  use_hsa_ops();
  if (rocm::g_hip_callbacks) {
    set_calls(nullptr, nullptr);
  } else {
    end_tracer();
  }
}

void use_hsa_ops() {
  for (uint32_t op = 0; g_enable != nullptr && op < kOpIds; ++op) g_enable(op, false);
}

bool register_callbacks() {
  static bool registered;
  void* library = loaded_library();
  if (library == nullptr) return false;  // a program that uses HSA only
  if (registered) return true;           // the runtime was shut down and initialised again
  registered = called_by_name();
  // Without the HSA part we need HIP's op reports, which come together with those of calls.
  if (registered && rocm::g_hsa_reports_ops) return true;
  prepare_functions(has_newer_data());
  if (register_old_callbacks(library)) {
    rocm::g_hip_callbacks = true;
    return registered = true;
  }
  if (register_tracer(library)) return registered = true;
  if (!registered) {
    rocm::report(SONDE_WARNING, "hip", "this HIP runtime cannot report its calls");
  }
  return registered;
}

}  // namespace sonde::hip
