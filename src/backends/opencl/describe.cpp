// What enqueues launch for which a row (plain_ops.h) is not enough: kind, bytes, direction. One
// function per enqueue of functions.inc, called by its wrapper after the enqueue has succeeded.
#include <string.h>

#include "backends/opencl/hooks.h"
#include "backends/opencl/kernels.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/plain_ops.h"

namespace sonde::opencl {
namespace {

void set_copy(sonde_op* op, uint32_t kind, uint64_t src, uint64_t dst, uint64_t bytes,
              cl_bool blocking) {
  op->kind = kind;
  op->src = src;
  op->dst = dst;
  op->bytes = bytes;
  if (blocking != CL_FALSE) op->flags |= kBlocking;
}

void set_named(sonde_op* op, const char* name, cl_uint count, const cl_mem* objects) {
  op->kind = SONDE_OP_OTHER;
  op->name = agent().intern(name, strlen(name));
  if (count != 0 && objects != nullptr) op->src = word(objects[0]);
}

void set_kernel(sonde_op* op, cl_command_queue queue, cl_kernel handle) {
  const Kernel kernel = find_kernel(handle, queue);
  op->kind = SONDE_OP_KERNEL;
  op->name = kernel.name;
  op->group_segment_bytes = kernel.group_bytes;
  op->private_segment_bytes = kernel.private_bytes;
}

}  // namespace

void describe_clEnqueueNDRangeKernel(sonde_op* op, cl_command_queue queue, cl_kernel kernel,
                                     cl_uint dimensions, const size_t*, const size_t* global,
                                     const size_t* local, cl_uint, const cl_event*, cl_event*) {
  set_kernel(op, queue, kernel);
  for (cl_uint i = 0; i < dimensions && i < 3; ++i) {
    if (global != nullptr) op->grid[i] = global[i];
    if (local != nullptr) op->group[i] = static_cast<uint32_t>(local[i]);
  }
}

void describe_clEnqueueTask(sonde_op* op, cl_command_queue queue, cl_kernel kernel, cl_uint,
                            const cl_event*, cl_event*) {
  set_kernel(op, queue, kernel);
  op->grid[0] = 1;
  op->group[0] = 1;
}

void describe_clEnqueueNativeKernel(sonde_op* op, cl_command_queue, void (*function)(void*), void*,
                                    size_t, cl_uint, const cl_mem*, const void**, cl_uint,
                                    const cl_event*, cl_event*) {
  op->kind = SONDE_OP_NATIVE;
  op->src = reinterpret_cast<uint64_t>(function);
}

void describe_clEnqueueUnmapMemObject(sonde_op* op, cl_command_queue, cl_mem object, void* mapped,
                                      cl_uint, const cl_event*, cl_event*) {
  set_copy(op, SONDE_OP_UNMAP, word(mapped), word(object), take_mapping(mapped), CL_FALSE);
}

void describe_clEnqueueMigrateMemObjects(sonde_op* op, cl_command_queue, cl_uint count,
                                         const cl_mem* objects, cl_mem_migration_flags, cl_uint,
                                         const cl_event*, cl_event*) {
  op->kind = SONDE_OP_MIGRATE;
  for (cl_uint i = 0; i < count; ++i) op->bytes += object_bytes(objects[i]);
  if (count != 0) op->src = word(objects[0]);
}

void describe_clEnqueueSVMMemcpy(sonde_op* op, cl_command_queue, cl_bool blocking, void* dst,
                                 const void* src, size_t size, cl_uint, const cl_event*,
                                 cl_event*) {
  const bool from_device = svm_bytes(src) != 0;
  const bool to_device = svm_bytes(dst) != 0;
  const uint32_t kind = from_device ? (to_device ? SONDE_OP_COPY_D2D : SONDE_OP_COPY_D2H)
                                    : (to_device ? SONDE_OP_COPY_H2D : SONDE_OP_COPY_H2H);
  set_copy(op, kind, word(src), word(dst), size, blocking);
}

void describe_clEnqueueSVMMap(sonde_op* op, cl_command_queue, cl_bool blocking, cl_map_flags,
                              void* pointer, size_t size, cl_uint, const cl_event*, cl_event*) {
  set_copy(op, SONDE_OP_MAP, word(pointer), 0, size, blocking);
  remember_mapping(op, pointer);
}

void describe_clEnqueueSVMUnmap(sonde_op* op, cl_command_queue, void* pointer, cl_uint,
                                const cl_event*, cl_event*) {
  set_copy(op, SONDE_OP_UNMAP, word(pointer), word(pointer), take_mapping(pointer), CL_FALSE);
}

void describe_clEnqueueSVMMigrateMem(sonde_op* op, cl_command_queue, cl_uint count,
                                     const void** pointers, const size_t* sizes,
                                     cl_mem_migration_flags, cl_uint, const cl_event*, cl_event*) {
  op->kind = SONDE_OP_MIGRATE;
  for (cl_uint i = 0; i < count; ++i) {
    op->bytes += sizes != nullptr && sizes[i] != 0 ? sizes[i] : svm_bytes(pointers[i]);
  }
  if (count != 0) op->src = word(pointers[0]);
}

#define DESCRIBE_NAMED(function, name)                                                           \
  void describe_##function(sonde_op* op, cl_command_queue, cl_uint count, const cl_mem* objects, \
                           cl_uint, const cl_event*, cl_event*) {                                \
    set_named(op, name, count, objects);                                                         \
  }
DESCRIBE_NAMED(clEnqueueAcquireGLObjects, "AcquireGLObjects")
DESCRIBE_NAMED(clEnqueueReleaseGLObjects, "ReleaseGLObjects")
DESCRIBE_NAMED(clEnqueueAcquireEGLObjectsKHR, "AcquireEGLObjects")
DESCRIBE_NAMED(clEnqueueReleaseEGLObjectsKHR, "ReleaseEGLObjects")

}  // namespace sonde::opencl
