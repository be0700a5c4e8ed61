"""A small trace that has a bit of everything that the page draws: a training job of four steps on one GPU, in which the
GPU waits for the host (launch-bound), for a synchronisation and for copies. Times are round, so that what a test expects
can be told by hand. All times in ns."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from rpd_fixture import Fixture  # noqa: E402

STEP = 10_000_000
STEPS = 4
KERNELS = ["gemm_128x128", "softmax_forward", "gemm_64x64", "adam_update"]


def write_story(path, more=0):
    """`more` is by how much the first kernel of each step is longer, and the steps with it: for comparisons."""
    fixture = Fixture(path)
    for step in range(STEPS):
        at = 1_000_000 + step * (STEP + more)
        end = at + STEP + more
        fixture.api(at, end, "UserMarker", args=f"ProfilerStep#{step}", domain="roctx")
        copy = fixture.api(at + 100_000, at + 200_000, "hipMemcpyAsync")
        fixture.copy_api(copy, 8 << 20)
        fixture.op(at + 300_000, at + 1_300_000, "", kind="CopyHostToDevice", apis=[copy])
        launch = at + 250_000
        begin = at + 1_300_000
        for i, name in enumerate(KERNELS):
            long = 1_500_000 + (more if i == 0 else 0)
            call = fixture.api(launch, launch + 20_000, "hipLaunchKernel")
            fixture.kernel_api(call, (64, 1, 1), (256, 1, 1), name)
            fixture.op(begin, begin + long, name, queue=i % 2, apis=[call])
            begin += long
            launch += 30_000
            if i == 1:  # the host looks at a result, then does something else for a while
                fixture.api(launch, begin + 50_000, "hipDeviceSynchronize")
                launch = begin + 1_000_000
                begin = launch + 30_000
        fixture.api(launch + 100_000, end - 200_000, "hipDeviceSynchronize")
        for k in range(10):
            begin = at + k * (STEP + more) // 10
            fixture.database.execute("INSERT INTO rocpd_monitor(deviceType, deviceId, monitorType, start, end, value) VALUES ('gpu', 0, 'sclk', ?, ?, ?)",
                                     (begin, begin + (STEP + more) // 10, str(800 + 100 * (k % 4) + 10 * step)))
    fixture.close()
    return path
