// The state that all parts of the OpenCL layer share: the next layer's functions and the agent. Set
// once by clInitLayer before any wrapper can run and never changed, so it is read without a lock.
// Runs in the traced program: libc only, no exceptions.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_layer.h>
#include <stdint.h>
#include <string.h>

#include <atomic>

// A struct and a function of one name, as C allows: gcc's -Wshadow takes it for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "sonde/backend.h"
#pragma GCC diagnostic pop

namespace sonde::opencl {

using Agent = struct sonde_agent;

enum class Function : uint16_t {
#define X(kind, category, name, arguments) name,
#include "backends/opencl/functions.inc"
#undef X
  kCount
};

struct Layer {
  cl_icd_dispatch next;  // what the program would call without this layer
  const Agent* agent;
  uint32_t functions[static_cast<unsigned>(Function::kCount)];  // ids of define_function()
};

extern Layer g_layer;

// attached.cpp. Whether the process is attached to but between recordings: the wrappers stay, but
// record, add and start nothing.
extern bool g_attached;
extern std::atomic<bool> g_dormant;
inline bool dormant() { return g_dormant.load(std::memory_order_relaxed); }

// layer.cpp. Returns the dispatch table with our wrappers; `next` has the functions they call, and
// those that it lacks stay absent.
const cl_icd_dispatch& wrap(const cl_icd_dispatch& next, const Agent* agent);

inline const cl_icd_dispatch& next() { return g_layer.next; }
inline const Agent& agent() { return *g_layer.agent; }
inline bool recording() { return g_layer.agent->recording() != 0; }

// Answers a clGet*Info request with `size` bytes, as a runtime would.
inline cl_int answer_info(const void* data, size_t size, size_t room, void* value,
                          size_t* size_ret) {
  if (value != nullptr && room < size) return CL_INVALID_VALUE;
  if (value != nullptr && size != 0) memcpy(value, data, size);
  if (size_ret != nullptr) *size_ret = size;
  return CL_SUCCESS;
}

inline uint64_t word(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace sonde::opencl
