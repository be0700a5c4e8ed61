// The board of this process' OpenCL kernels (wire/cl_board.h). Does nothing unless a reader is
// watching. Used by wrap.h, kernels.cpp and pending.cpp.
#pragma once

#include "backends/opencl/layer.h"

namespace sonde::opencl {

// Call once, when the layer is initialised.
void open_board();
bool has_board();

// A new kernel, whose handle an earlier one may have had: it has no arguments, or those `of` has.
void begin_arguments(cl_kernel kernel, cl_kernel of);
void note_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void* value);

// Called before the enqueue, which may not return if the kernel crashes. Returns the launch's
// number plus 1; 0: it is not on the board.
uint64_t note_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t* global, const size_t* local);
void note_launch_over(uint64_t number_plus_1);

// The same, from the arguments of the enqueue wrapper.
inline uint64_t note_enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                             const size_t*, const size_t* global, const size_t* local, cl_uint,
                             const cl_event*, cl_event*) {
  return note_launch(queue, kernel, dimensions, global, local);
}
inline uint64_t note_enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint, const cl_event*,
                             cl_event*) {
  return note_launch(queue, kernel, 0, nullptr, nullptr);
}

}  // namespace sonde::opencl
