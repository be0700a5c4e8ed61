// Ops as HIP itself reports them: for when the HSA part cannot.
#pragma once

#include <stdint.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/hip/functions.h"
#include "backends/rocm/hip/hip_abi.h"

namespace sonde::hip {

void find_kernel_names(void* library);
// The name of the kernel that a call launches; intern()ed, 0 = unknown.
uint32_t kernel_name(const FunctionInfo& function, const char* data);

// Remembers a call that may launch something, and finds the call that an op belongs to; for
// runtimes that report only ops.
void remember_launch(const rocm::Launch& launch);
rocm::Launch launch_of(uint64_t correlation);

void record_op(const ActivityRecord& record, uint32_t name, const rocm::Launch& launch);

// The callbacks of ROCm 5.2: on the launching thread, and on another thread when the op has
// finished.
void launched(uint64_t record_id);
void finished(uint32_t op, void* record, void* arg);

// ROCm 5.3.1 to 7: one callback for calls and ops. False if the library does not have it.
bool register_tracer(void* library);
void end_tracer();

}  // namespace sonde::hip
