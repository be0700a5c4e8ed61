"""Small traces as `sonde record` writes them of HIP and OpenCL: .rpd files, in which calls have
arguments, and launches the streams that they named.

    trace = RuntimeTrace()
    trace.kernel("gemm", at=20, lasts=100, launched=10, stream=0x10)
    trace.copy("d2h", at=130, lasts=10, launched=25, returns=145)

Every time is in microseconds."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from rpd_fixture import Fixture  # noqa: E402  (found through the line above)

COPIES = {"h2d": "CopyHostToDevice", "d2h": "CopyDeviceToHost", "d2d": "CopyDeviceToDevice"}
KERNELS, TO_DEVICE, FROM_DEVICE = 0, 1, 2  # queues of the hardware


class RuntimeTrace:
    suffix = ".rpd"

    def __init__(self, domain="hip", process=100):
        self.domain, self.process = domain, process
        self.calls, self.ops = [], []

    def call(self, name, at, returns, thread=None, **arguments):
        """Arguments as `name = value`: numbers in hexadecimal where the runtime has pointers."""
        self.calls.append({"name": name, "at": at, "returns": returns,
                           "thread": thread or self.process, "launches": None,
                           "process": self.process,
                           "args": " | ".join(f"{key} = {value}" for key, value in arguments.items())})
        return self.calls[-1]

    def stream(self, handle, at, non_blocking=False):
        """The program makes a stream."""
        return self.call("hipStreamCreateWithFlags", at, at + 1, stream=hex(handle),
                         flags=int(non_blocking))

    def _op(self, table, kind, name, at, lasts, call, stream, queue, gpu, blocks):
        call["launches"] = (table, stream, blocks)
        self.ops.append((call, kind, name, at, lasts, queue, gpu))

    def kernel(self, name, at, lasts, launched, returns=None, stream=0, queue=KERNELS, gpu=0,
               thread=None, by=None, **arguments):
        by = by or {"hip": "hipLaunchKernel", "opencl": "clEnqueueNDRangeKernel"}[self.domain]
        call = self.call(by, launched, returns or launched + 1, thread, **arguments)
        self._op("rocpd_kernelapi", "KernelExecution", name, at, lasts, call, stream, queue, gpu, 0)

    def copy(self, kind, at, lasts, launched, returns, stream=0, queue=None, gpu=0, thread=None,
             by=None, blocks=True, to_gpu=0, from_gpu=0, **arguments):
        if queue is None:
            queue = TO_DEVICE if kind == "h2d" else FROM_DEVICE
        by = by or ("hipMemcpy" if blocks else "hipMemcpyAsync")
        call = self.call(by, launched, returns, thread, **arguments)
        self._op("rocpd_copyapi", COPIES[kind], "", at, lasts, call, stream, queue, gpu, int(blocks))
        call["gpus"] = (to_gpu, from_gpu)

    def write(self, path):
        path = str(path)
        pathlib.Path(path).unlink(missing_ok=True)  # a case may ask twice
        fixture = Fixture(path)
        rows = {}
        for call in sorted(self.calls, key=lambda one: one["at"]):
            rows[id(call)] = api = fixture.api(
                round(1000 * call["at"]), round(1000 * call["returns"]), call["name"], call["args"],
                call["process"], call["thread"], self.domain)
            if call["launches"] is None:
                continue
            table, stream, blocks = call["launches"]
            if table == "rocpd_kernelapi":
                fixture.kernel_api(api, (1, 1, 1), (1, 1, 1), "k")
            else:
                fixture.copy_api(api, 4096, *call["gpus"])
                fixture.database.execute("UPDATE rocpd_copyapi SET sync = ? WHERE api_ptr_id = ?",
                                         (blocks, api))
            fixture.database.execute(f"UPDATE {table} SET stream = ? WHERE api_ptr_id = ?",
                                     (hex(stream), api))
        for call, kind, name, at, lasts, queue, gpu in self.ops:
            fixture.op(round(1000 * at), round(1000 * (at + lasts)), name, kind, gpu, queue,
                       [rows[id(call)]])
        fixture.database.commit()
        fixture.database.close()
        return path

    def join(self, other):
        """Takes in what another process did."""
        self.calls += other.calls
        self.ops += other.ops
        return self
