#!/usr/bin/python3
"""Two HSA queues whose barriers wait for each other, through HSA's C interface: prints the ids of the
queues and waits. Traced by tests/e2e/debug.toml.
"""

import ctypes
import struct
import time

hsa = ctypes.CDLL("libhsa-runtime64.so.1")
GPU, DEVICE = 1, 17  # HSA_DEVICE_TYPE_GPU, HSA_AGENT_INFO_DEVICE
BARRIER_AND, SYSTEM_FENCES = 3, 2 << 9 | 2 << 11
PACKET_BYTES = 64


class Handle(ctypes.Structure):
    _fields_ = [("handle", ctypes.c_uint64)]


class Queue(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint32), ("features", ctypes.c_uint32), ("base", ctypes.c_uint64),
                ("doorbell", Handle), ("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("id", ctypes.c_uint64)]


def must(status):
    assert status == 0, f"error {status:#x}"


def find_gpu():
    found = []

    @ctypes.CFUNCTYPE(ctypes.c_uint32, Handle, ctypes.c_void_p)
    def look(agent, _):
        kind = ctypes.c_uint32()
        must(hsa.hsa_agent_get_info(agent, DEVICE, ctypes.byref(kind)))
        if kind.value == GPU:
            found.append(agent.handle)
        return 0

    must(hsa.hsa_iterate_agents(look, None))
    return Handle(found[0])


def make_queue(gpu):
    queue = ctypes.POINTER(Queue)()
    must(hsa.hsa_queue_create(gpu, 64, 0, None, None, 2**32 - 1, 2**32 - 1, ctypes.byref(queue)))
    return queue.contents


def make_signal():
    signal = Handle()
    must(hsa.hsa_signal_create(ctypes.c_int64(1), 0, None, ctypes.byref(signal)))
    return signal


def put_barrier(queue, awaited, completes):
    """In the queue's first place."""
    packet = struct.pack("<HHI7Q", 1, 0, 0, awaited.handle, 0, 0, 0, 0, 0, completes.handle)
    ctypes.memmove(queue.base, packet, PACKET_BYTES)
    hsa.hsa_queue_store_write_index_screlease(ctypes.byref(queue), ctypes.c_uint64(1))
    ctypes.c_uint16.from_address(queue.base).value = BARRIER_AND | SYSTEM_FENCES  # now it is one
    hsa.hsa_signal_store_screlease(queue.doorbell, ctypes.c_int64(0))


def main():
    must(hsa.hsa_init())
    gpu = find_gpu()
    first, second = make_queue(gpu), make_queue(gpu)
    of_first, of_second = make_signal(), make_signal()
    put_barrier(first, of_second, of_first)
    put_barrier(second, of_first, of_second)
    print(f'{{"first": {first.id}, "second": {second.id}}}', flush=True)
    time.sleep(1000)


main()
