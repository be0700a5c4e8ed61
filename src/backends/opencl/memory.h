// Sizes that calls do not carry: of images, mappings and SVM allocations. Used by describe.cpp and
// wrap.h.
#pragma once

#include "backends/opencl/layer.h"

namespace sonde::opencl {

uint64_t element_bytes(cl_mem image);
uint64_t object_bytes(cl_mem object);

// Called with the result of a successful map: completes the op, and remembers the size for the
// unmap.
void remember_mapping(sonde_op* op, const void* mapped);
uint64_t take_mapping(const void* mapped);

// Size of the SVM allocation that contains `pointer`, 0 if there is none.
uint64_t svm_bytes(const void* pointer);

// In a forked child: another thread of the parent may have held a lock.
void reset_memory_locks();

}  // namespace sonde::opencl
