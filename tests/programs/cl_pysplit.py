"""Enqueues kernels from functions with kernels of their own. cl_pysplit.py [N]; prints its counts as
one JSON line; exit status 77 where there is no pyopencl or no device."""

import json
import sys

try:
    import numpy
    import pyopencl as cl
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
except Exception as error:  # whatever is missing, the test cannot run
    print(error, file=sys.stderr)
    sys.exit(77)

queue = cl.CommandQueue(context)
program = cl.Program(context, """
__kernel void many(__global int* d) { d[get_global_id(0)] += 1; }
__kernel void some(__global int* d) { d[get_global_id(0)] += 2; }
__kernel void few(__global int* d) { d[get_global_id(0)] += 3; }
""").build()
kernels = {name: getattr(program, name) for name in ("many", "some", "few")}
host = numpy.zeros(4096, dtype=numpy.int32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes)


def launches_many():
    for _ in range(6):
        kernels["many"](queue, host.shape, None, buffer)


def launches_some():
    for _ in range(3):
        kernels["some"](queue, host.shape, None, buffer)


def launches_few():
    kernels["few"](queue, host.shape, None, buffer)


def main(rounds):
    cl.enqueue_copy(queue, buffer, host)
    for _ in range(rounds):
        launches_many()
        launches_some()
        launches_few()
    cl.enqueue_copy(queue, host, buffer)
    queue.finish()
    wrong = int((host != rounds * 15).sum())
    print(json.dumps({"launches": rounds * 10, "surprises": wrong}))


main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
