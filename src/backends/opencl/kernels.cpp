#include "backends/opencl/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "backends/opencl/board.h"
#include "backends/opencl/devices.h"
#include "backends/opencl/handle_map.h"
#include "backends/opencl/hooks.h"
#include "backends/opencl/queues.h"

namespace sonde::opencl {
namespace {

HandleMap<Kernel> g_kernels;
HandleMap<const char*> g_texts;  // by name id: a program may create the same kernel repeatedly

// A permanent copy of `name`, one per name.
const char* keep_text(uint32_t id, const char* name) {
  const void* key = reinterpret_cast<const void*>(static_cast<uintptr_t>(id));
  const char* known = nullptr;
  if (g_texts.get(key, &known)) return known;
  char* text = strdup(name);
  if (text == nullptr || !g_texts.put(key, text)) {
    free(text);
    return "";
  }
  return text;
}

Kernel remember(cl_kernel handle, const char* name) {
  Kernel kernel = {};
  kernel.name = agent().intern(name, strlen(name));
  kernel.text = keep_text(kernel.name, name);
  kernel.stale = true;
  g_kernels.put(handle, kernel);
  return kernel;
}

Kernel ask_name(cl_kernel handle) {
  char name[512];
  size_t size = 0;
  if (next().clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &size) != CL_SUCCESS) {
    return remember(handle, "?");
  }
  char* text = size <= sizeof name ? name : static_cast<char*>(malloc(size));
  if (text == nullptr) return remember(handle, "?");
  const bool good =
      next().clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, size, text, nullptr) == CL_SUCCESS;
  const Kernel kernel = remember(handle, good && size != 0 ? text : "?");
  if (text != name) free(text);
  return kernel;
}

uint32_t ask_bytes(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what) {
  cl_ulong bytes = 0;
  if (next().clGetKernelWorkGroupInfo(kernel, device, what, sizeof bytes, &bytes, nullptr) !=
      CL_SUCCESS) {
    return 0;
  }
  return static_cast<uint32_t>(bytes);
}

}  // namespace

void reset_kernel_locks() {
  g_kernels.reset_locks();
  g_texts.reset_locks();
}

Kernel find_kernel(cl_kernel handle, cl_command_queue queue_handle) {
  Kernel kernel;
  if (!g_kernels.get(handle, &kernel)) kernel = ask_name(handle);
  if (kernel.stale) {
    const Queue* queue = known_queue(queue_handle);
    if (queue != nullptr && queue->device != nullptr) {
      const cl_device_id device = queue->device->handle;
      kernel.group_bytes = ask_bytes(handle, device, CL_KERNEL_LOCAL_MEM_SIZE);
      kernel.private_bytes = ask_bytes(handle, device, CL_KERNEL_PRIVATE_MEM_SIZE);
      kernel.stale = false;
      g_kernels.put(handle, kernel);
    }
  }
  return kernel;
}

// Used for the arguments of calls that may have failed, so it does not call the runtime.
const char* kernel_text(cl_kernel handle) {
  Kernel kernel;
  return g_kernels.get(handle, &kernel) ? kernel.text : "";
}

void after_clCreateKernel(cl_kernel kernel, cl_program, const char* name, cl_int*) {
  if (kernel == nullptr) return;
  begin_arguments(kernel, nullptr);
  remember(kernel, name);
}

void after_clCreateKernelsInProgram(cl_int code, cl_program program, cl_uint, cl_kernel* kernels,
                                    cl_uint*) {
  size_t count = 0;
  if (code != CL_SUCCESS || kernels == nullptr ||
      next().clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, nullptr) !=
          CL_SUCCESS) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    begin_arguments(kernels[i], nullptr);
    ask_name(kernels[i]);
  }
}

void after_clCloneKernel(cl_kernel kernel, cl_kernel source, cl_int*) {
  if (kernel == nullptr) return;
  begin_arguments(kernel, source);
  ask_name(kernel);
}

// A local-memory argument changes the kernel's resource use.
void after_clSetKernelArg(cl_int code, cl_kernel handle, cl_uint index, size_t bytes,
                          const void* value) {
  Kernel kernel;
  if (code == CL_SUCCESS) note_argument(handle, index, bytes, value);
  if (code != CL_SUCCESS || value != nullptr || !g_kernels.get(handle, &kernel)) return;
  kernel.stale = true;
  g_kernels.put(handle, kernel);
}

}  // namespace sonde::opencl
