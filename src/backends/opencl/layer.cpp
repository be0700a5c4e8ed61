// The entry points for the ICD loader: the layer's identity and its dispatch table.
#include "backends/opencl/layer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backends/opencl/wrap.h"

namespace sonde::opencl {

Layer g_layer;

namespace {

constexpr char kName[] = "sonde";
constexpr char kAgentFile[] = "libsonde-agent.so";

cl_icd_dispatch g_dispatch;

// The agent is preloaded or next to this library: a program may be given just OPENCL_LAYERS.
const Agent* find_agent() {
  if (const Agent* found = sonde_find_agent()) return found;
  Dl_info self;
  char path[4096];
  if (dladdr(reinterpret_cast<void*>(&find_agent), &self) == 0 || self.dli_fname == nullptr) {
    return nullptr;
  }
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - self.dli_fname + 1);
  const int length = snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, kAgentFile);
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) return nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  return library != nullptr ? sonde_find_agent() : nullptr;
}

// Converts the formats of functions.inc to those of backend.h: sizes one by one, and the returned
// handle.
void expand_arguments(const char* arguments, bool returns_handle, char* text, size_t room) {
  size_t used = 0;
  const auto add = [&](const char* part, size_t length) {
    if (used + length >= room) length = room - used - 1;
    memcpy(text + used, part, length);
    used += length;
  };
  while (*arguments != '\0') {
    const size_t length = strcspn(arguments, " ");
    if (arguments[length - 1] == 'v') {
      for (char digit = '0'; digit < '3'; ++digit) {
        add(arguments, length - 2);
        const char suffix[] = {'.', digit, ':', 'u', ' '};
        add(suffix, digit == '2' ? 4 : 5);
      }
    } else {
      add(arguments, length);
    }
    arguments += length;
    if (*arguments == ' ') add(arguments++, 1);
  }
  if (returns_handle) add(used != 0 ? " ret:p" : "ret:p", used != 0 ? 6 : 5);
  text[used] = '\0';
}

template <typename Pointer>
struct ReturnsHandle;
template <typename R, typename... A>
struct ReturnsHandle<R (*)(A...)> {
  static constexpr bool value = std::is_pointer_v<R>;
};

void define_functions() {
  constexpr bool kHandles[] = {
#define X(kind, category, name, arguments) \
  ReturnsHandle<FunctionType<&cl_icd_dispatch::name>>::value,
#include "backends/opencl/functions.inc"
#undef X
  };
  char arguments[1024];
  for (size_t i = 0; i < sizeof kHandles; ++i) {
    const FunctionInfo& function = kFunctions[i];
    expand_arguments(function.arguments, kHandles[i], arguments, sizeof arguments);
    g_layer.functions[i] =
        g_layer.agent->define_function("opencl", function.category, function.name, arguments);
  }
}

// Functions that the next layer lacks stay absent.
void fill_dispatch() {
#define X(kind, category, name, arguments)                                  \
  if (g_layer.next.name != nullptr) {                                       \
    g_dispatch.name = &Wrapped<Function::name, &cl_icd_dispatch::name,      \
                               FunctionType<&cl_icd_dispatch::name>>::call; \
  }
#include "backends/opencl/functions.inc"
#undef X
}

}  // namespace

const cl_icd_dispatch& wrap(const cl_icd_dispatch& next, const Agent* agent) {
  g_layer.next = next;
  g_dispatch = next;
  g_layer.agent = agent;
  if (agent != nullptr) {
    define_functions();
    fill_dispatch();
  }
  return g_dispatch;
}

}  // namespace sonde::opencl

using sonde::opencl::g_layer;

extern "C" __attribute__((visibility("default"))) cl_int clGetLayerInfo(cl_layer_info param,
                                                                        size_t room, void* value,
                                                                        size_t* size_ret) {
  using namespace sonde::opencl;
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (param == CL_LAYER_API_VERSION) {
    return answer_info(&version, sizeof version, room, value, size_ret);
  }
  if (param == CL_LAYER_NAME) return answer_info(kName, sizeof kName, room, value, size_ret);
  return CL_INVALID_VALUE;
}

extern "C" __attribute__((visibility("default"))) cl_int clInitLayer(
    cl_uint num_entries, const cl_icd_dispatch* target, cl_uint* num_entries_ret,
    const cl_icd_dispatch** dispatch_ret) {
  using namespace sonde::opencl;
  constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
  if (target == nullptr || num_entries_ret == nullptr || dispatch_ret == nullptr) {
    return CL_INVALID_VALUE;
  }
  const cl_uint count = num_entries < kEntries ? num_entries : kEntries;
  cl_icd_dispatch next = {};
  memcpy(&next, target, count * sizeof(void*));
  *dispatch_ret = &wrap(next, find_agent());
  if (g_layer.agent != nullptr) open_board();
  *num_entries_ret = count;
  return CL_SUCCESS;
}
