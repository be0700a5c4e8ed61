#!/usr/bin/python3
"""A kernel that writes far behind its buffer, on an OpenCL device that is the CPU: the program
crashes. Traced by tests/e2e/debug.toml. `reused`: the kernel has the handle of one that was released.
"""

import sys

import numpy
import pyopencl as cl

SOURCE = """
__kernel void wide(__global float* out, int a, int b, int c, int d, int e) {}
__kernel void scatter(__global float* out, __local float* parts, const float factor, const long reach) {
  const long i = get_global_id(0);
  parts[get_local_id(0)] = factor * i;
  out[i * reach] = parts[get_local_id(0)];
}
"""

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build(options=["-cl-kernel-arg-info"])


def with_the_handle_of_another():
    others = [cl.Kernel(program, "wide") for _ in range(20)]
    for kernel in others:
        for i in range(1, 6):
            kernel.set_arg(i, numpy.int32(i))
    handles = {kernel.int_ptr for kernel in others}
    del others, kernel
    kernels = [cl.Kernel(program, "scatter") for _ in range(200)]
    return next(kernel for kernel in kernels if kernel.int_ptr in handles)


kernel = with_the_handle_of_another() if "reused" in sys.argv else program.scatter
out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 << 20)
kernel.set_args(out, cl.LocalMemory(256), numpy.float32(0.5), numpy.int64(1))
cl.enqueue_nd_range_kernel(queue, kernel, (1024,), (64,))
queue.finish()
kernel.set_arg(3, numpy.int64(1 << 40))
cl.enqueue_nd_range_kernel(queue, kernel, (1024,), (64,))
queue.finish()
print("done")
