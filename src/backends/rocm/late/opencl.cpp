#include "backends/rocm/late/opencl.h"

#include "backends/rocm/connection.h"
#include "backends/rocm/late/libraries.h"

namespace sonde::late {
namespace {

using Attach = const char* (*)(const struct sonde_agent*);
using Detach = void (*)();

Attach g_attach;
Detach g_detach;

bool has_loader() {
  void* library = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

bool find_library() {
  if (g_attach != nullptr) return true;
  void* library = load_beside("libsonde-opencl.so");
  return find_function(library, "sonde_opencl_detach", g_detach) &&
         find_function(library, "sonde_opencl_attach", g_attach);
}

}  // namespace

const char* begin_opencl() {
  if (!has_loader()) return "";
  return find_library() ? g_attach(rocm::g_agent) : "Sonde was built without OpenCL's headers";
}

void end_opencl() {
  if (g_detach != nullptr) g_detach();
}

}  // namespace sonde::late
