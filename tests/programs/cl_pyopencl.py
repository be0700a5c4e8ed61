"""Uses OpenCL through pyopencl (a Python extension). cl_pyopencl.py [N]; prints its counts as one
JSON line; exit status 77 where there is no pyopencl or no device."""

import json
import sys

try:
    import numpy
    import pyopencl as cl
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
except Exception as error:  # whatever is missing, the test cannot run
    print(error, file=sys.stderr)
    sys.exit(77)

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
queue = cl.CommandQueue(context)
program = cl.Program(context, "__kernel void py_kernel(__global float* d) "
                              "{ d[get_global_id(0)] *= 2; }").build()
host = numpy.ones(256, dtype=numpy.float32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes)
kernel = program.py_kernel
counts = {"kernels": 0, "h2d": 0, "d2h": 0, "fills": 0, "barriers": 0}
for _ in range(rounds):
    cl.enqueue_copy(queue, buffer, host)
    kernel(queue, (256,), (16,), buffer)
    cl.enqueue_copy(queue, host, buffer)
    cl.enqueue_fill_buffer(queue, buffer, numpy.float32(1), 0, host.nbytes)
    cl.enqueue_marker(queue)
    for kind in counts:
        counts[kind] += 1
queue.finish()
counts["enqueues"] = sum(counts.values())
print(json.dumps(counts))
