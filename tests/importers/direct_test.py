#!/usr/bin/python3
"""Every analysis answers of another tool's trace itself what it answers of the .rpd that the trace is
imported into: for each kind that is imported, a program whose steps, data loading and allocations are
markers' texts and arguments, as far as the kind can say so, and small real traces.

    direct_test.py --sonde PATH [unittest options]

The real files come from SONDE_SHARED (default ../shared beside the project); those of PyTorch are in
golden_test.py."""

import import_case
import nsys_file
import rocprof_test
import xplane_test
from direct import commands, unlike
from hostile_formats import FORMATS
from rpd_fixture import Fixture
from tool_case import SHARED

MS = 1_000_000
STEPS = 8
# What `sonde export --format` writes and which of its files is read; some say less than others.
EXPORTS = {"t.json": "chrome", "t.json.gz": "chrome", "t.pftrace": "perfetto", "t.db": "rocpd",
           "t_results.json": "rocprofv3-json", "t3": "rocprofv3", "t1": "rocprof"}
FILES = {"t3": "results_kernel_trace.csv", "t1": "results.csv"}
# Commands that have an importer leave out different things.
NEEDS = ("top", "api", "launches", "memory", "variability", "check", "top --window marker:.",
         "idle --window kernel:.")
SMALL = ("kineto/cpu_only.json.gz", "kineto/legacy_torch113_ddp_rank0.json.gz", "rocpd/synthetic_v3.db",
         "logs/amd_log_level4_hip5.2.txt", "rocprof-v1/ctr.csv", "rocprof-v1/ctr2.json",
         "rocprof-v1/results.json", "rocprof-v1/results.stats.csv", "rocprofv3/mi300_908_results.json.gz")


def training(path):
    """Two processes. The first loads data in half of each step and then launches; both have allocated."""
    made = Fixture(path)
    for pid in (100, 7):
        made.api(900_000, 950_000, "hipMalloc", f"ptr = {pid:#x}0 | size = 819200", pid=pid, tid=pid)
    for i in range(STEPS):
        at = (1 + 10 * i) * MS
        made.api(at, at + 10 * MS - 1000, "UserMarker", f"ProfilerStep#{i}", domain="roctx")
        made.api(at + 1000, at + 5 * MS, "UserMarker", "DataLoader next", domain="roctx")
        made.api(at + 5 * MS, at + 9 * MS, "UserMarker", "aten::mm", domain="roctx")
        launch = made.api(at + 6 * MS, at + 6 * MS + 5000, "hipLaunchKernel", "stream = 0x0")
        made.kernel_api(launch, (256, 1, 1), (64, 1, 1), "gemm")
        kernel = made.op(at + 6 * MS + 9000, at + 8 * MS, "gemm", apis=[launch])
        made.op_counter(kernel, "SQ_WAVES", 100 + i)
        copy = made.api(at + 8 * MS + 1000, at + 9 * MS - 9000, "hipMemcpy", "sizeBytes = 4096")
        made.copy_api(copy, 4096)
        made.op(at + 8 * MS + 2000, at + 9 * MS - 10_000, "", "CopyDeviceToHost", apis=[copy])
        other = made.api(at + 100, at + 9000, "hipLaunchKernel", "stream = 0x1", pid=7, tid=7)
        made.kernel_api(other, (64, 1, 1), (64, 1, 1), "add")
        made.op(at + 10_000, at + 8 * MS, "add", gpu=1, queue=3, apis=[other])
        made.monitor(at + 2 * MS, str(1000 + 100 * i))
        made.monitor(at + 2 * MS, str(2000 - 100 * i), device=1)
    made.close()


def nsys(path):
    """The same steps, as Nsight Systems has them, beside all that the format has."""
    nsys_file.write(path)
    database = nsys_file.sqlite3.connect(path)
    main = nsys_file.global_tid(41, 41)
    for i in range(STEPS):
        at = 43_000 + 10 * i * MS
        ranges = ((at, at + 10 * MS - 1000, f"ProfilerStep#{i}"), (at + 1000, at + 6 * MS, "DataLoader next"))
        for start, end, text in ranges:
            nsys_file.insert(database, "NVTX_EVENTS", start=start, end=end, eventType=59, text=text,
                             globalTid=main)
        nsys_file.insert(database, "CUPTI_ACTIVITY_KIND_RUNTIME", start=at + 7 * MS, end=at + 7 * MS + 50,
                         correlationId=100 + i, globalTid=main, nameId=1)
        nsys_file.insert(database, "CUPTI_ACTIVITY_KIND_MEMSET", start=at + 7 * MS + 99, end=at + 9 * MS,
                         correlationId=100 + i, bytes=256, value=0, deviceId=0, streamId=9,
                         globalPid=nsys_file.global_tid(41))
    database.commit()
    database.close()


class Direct(import_case.ImportCase):
    def hold(self, path, some=None):
        wrong = unlike(self.sonde, path, some)
        self.assertEqual([command for command, _, _ in wrong], [], f"{path.name}: {wrong[:1]}"[:3000])

    def exported(self, name, *options):
        source = self.folder / "in.rpd"
        if not source.exists():
            training(source)
        out = self.export(source, name, "--format", EXPORTS[name], *options)
        return out / FILES[name] if name in FILES else out

    def test_there_are_commands(self):
        self.assertTrue({"steps", "memory", "check", "diff", "variability"} <= set(commands(self.sonde)))

    def test_steps_and_loading_are_those_of_the_program(self):
        """In every kind that has markers: the truth, and not only the same answer twice."""
        made = self.folder / "report.sqlite"
        nsys(made)
        paths = [made] + [self.exported(name) for name in EXPORTS if name != "t1"]
        for path in paths:
            with self.subTest(path.name):
                steps = self.ask("steps", path)
                self.assertEqual(steps["steps_facts"]["count"], STEPS)
                self.assertIn("data-loading", {row["finding"] for row in self.ask("check", path)["check"]})

    def test_allocations_are_those_of_the_program(self):
        for name in ("t.json", "t.pftrace", "t.db"):
            with self.subTest(name):
                rows = self.ask("memory", self.exported(name))["memory"]
                self.assertEqual([row["allocated_bytes"] for row in rows], [819200, 819200])

    def test_exports(self):
        for name in EXPORTS:
            with self.subTest(name):
                self.hold(self.exported(name))

    def test_export_for_older_viewers(self):
        self.hold(self.exported("t.pftrace", "--track-events"))

    def test_nsight_systems(self):
        path = self.folder / "report.sqlite"
        nsys(path)
        self.hold(path)

    def test_rocprof_and_xla(self):
        path = self.folder / "results.db"
        made = rocprof_test.database(path)
        made.commit()
        made.close()
        self.hold(path)
        path = self.folder / "vm.xplane.pb"
        path.write_bytes(xplane_test.space(xplane_test.device(), xplane_test.host()))
        self.hold(path)

    def test_every_kind(self):
        rows = [(name, 5000 * i + 1000, 5000 * i + 4000) for i, name in enumerate(["gemm", "add", "gemm"] * 4)]
        for kind, forms in FORMATS.items():
            for form in forms:
                with self.subTest(kind, file=form.file):
                    path = self.folder / kind / form.file
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(form.encode(rows))
                    self.hold(path, NEEDS)

    def test_real_files(self):
        for name in SMALL:
            with self.subTest(name):
                path = SHARED / "data" / name
                if not path.exists():
                    self.skipTest(f"no {path}")
                self.hold(path)


if __name__ == "__main__":
    import_case.main()
