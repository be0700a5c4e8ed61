#include "measure/hip.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace sonde::measure {
namespace {

void* open_one(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  void* found = dlsym(library, name);
  function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

}  // namespace

Result<Hip> load_hip() {
  void* runtime = open_one({"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                            "libamdhip64.so.5", "libamdhip64.so.4"});
  if (runtime == nullptr) {
    return make_error(ErrorCode::kUnsupported, "there is no HIP runtime", "libamdhip64.so",
                      "it comes with ROCm");
  }
  // hiprtc is a library of its own since ROCm 5.3; before it is in the runtime.
  void* compiler = open_one({"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5"});
  if (compiler == nullptr) compiler = runtime;
  Hip hip;
  const bool all = find(runtime, "hipGetDeviceCount", hip.get_device_count) &&
                   find(runtime, "hipSetDevice", hip.set_device) &&
                   find(runtime, "hipMalloc", hip.malloc) && find(runtime, "hipFree", hip.free) &&
                   find(runtime, "hipMemset", hip.memset) &&
                   find(runtime, "hipDeviceSynchronize", hip.synchronize) &&
                   find(runtime, "hipModuleLoadData", hip.module_load) &&
                   find(runtime, "hipModuleGetFunction", hip.module_function) &&
                   find(runtime, "hipModuleUnload", hip.module_unload) &&
                   find(runtime, "hipModuleLaunchKernel", hip.launch) &&
                   find(runtime, "hipGetErrorString", hip.error_string) &&
                   find(compiler, "hiprtcCreateProgram", hip.create_program) &&
                   find(compiler, "hiprtcCompileProgram", hip.compile) &&
                   find(compiler, "hiprtcGetProgramLogSize", hip.log_size) &&
                   find(compiler, "hiprtcGetProgramLog", hip.log) &&
                   find(compiler, "hiprtcGetCodeSize", hip.code_size) &&
                   find(compiler, "hiprtcGetCode", hip.code) &&
                   find(compiler, "hiprtcDestroyProgram", hip.destroy_program);
  if (all) return hip;
  return make_error(ErrorCode::kUnsupported, "the HIP runtime lacks functions that are needed",
                    "libamdhip64.so", "ROCm 4.5 and later have them");
}

Status check(const Hip& hip, int code, const char* what) {
  if (code == 0) return ok_status();
  return make_error(ErrorCode::kUnsupported,
                    fmt::format("{} failed: {}", what, hip.error_string(code)), "HIP");
}

}  // namespace sonde::measure
