"""A small trace that has a bit of everything that the page draws: a training job of four steps on one GPU, in which the
GPU waits for the host (launch-bound), for a synchronisation and for copies. Times are round, so that what a test expects
can be told by hand. All times in ns."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from rpd_fixture import Fixture  # noqa: E402

STEP = 10_000_000
STEPS = 4
KERNELS = ["gemm_128x128", "softmax_forward", "gemm_64x64", "adam_update"]


def add_samples(path):
    """To a file that Sonde made: stacks of Thread 100 each ms from 2 to 9 ms after the first event: main > forward, then main > backward; and one at 7 s."""
    database = sqlite3.connect(path)
    database.executescript("""
        INSERT INTO sonde_frame(id, kind, function, file, line, is_library) VALUES
          (1, 'python', 'main', 'train.py', 3, 0), (2, 'python', 'forward', 'train.py', 5, 0), (3, 'python', 'backward', 'train.py', 9, 0);
        INSERT INTO sonde_stack(id, parent_id, frame_id) VALUES (1, NULL, 1), (2, 1, 2), (3, 1, 3);
        """)
    database.execute("UPDATE sonde_process SET end_ns = 7000000000")  # as a recording says it: that is the wall time
    times = [(1_000_000 + 1_000_000 * k, 2 if k < 6 else 3) for k in range(2, 10)] + [(7_000_000_000, 3)]
    database.executemany("INSERT INTO sonde_sample(process_id, tid, time_ns, stack_id, cpu_ns, missed, cost_ns, truncated, by_timer) "
                         "VALUES (1, 100, ?, ?, 1000000, 0, 0, 0, 1)", times)
    database.commit()
    database.close()
    return path


def write_large(path, count):
    """One that takes a while to be read."""
    fixture = Fixture(path)
    name, kind = fixture.string("kernel"), fixture.string("KernelExecution")
    fixture.database.executemany(
        "INSERT INTO rocpd_op(gpuId, queueId, sequenceId, start, end, description_id, opType_id) VALUES (0,0,0,?,?,?,?)",
        ((1000 * i, 1000 * i + 700, name, kind) for i in range(count)))
    fixture.close()
    return path


def write_calls(path):
    """A job without a GPU: ten steps of 4 ms, most of each in one operator."""
    fixture = Fixture(path)
    for step in range(10):
        at = 1_000_000 + 4_000_000 * step
        fixture.api(at, at + 4_000_000, "UserMarker", args=f"ProfilerStep#{step}", domain="roctx")
        fixture.api(at + 100_000, at + 3_900_000, "aten::mm", domain="torch")
    fixture.close()
    return path


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
