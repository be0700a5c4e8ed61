#!/usr/bin/python3
"""Imports of xplane.pb files of JAX and XLA, written here from the description of the format.

    xplane_test.py --sonde PATH [unittest options]"""
import gzip

import import_case
from protobuf import message


class Plane:
    """Gives out the numbers of names as it meets them. Lines come before the names, as XLA writes."""

    def __init__(self, name):
        self.name, self.lines, self.stats = name, [], []
        self.event_ids, self.stat_ids, self.event_stats = {}, {}, {}

    def stat(self, name, value):
        body = [(1, self.stat_ids.setdefault(name, len(self.stat_ids) + 1))]
        if isinstance(value, tuple):  # a text that is a name itself
            body.append((7, self.stat_ids.setdefault(value[0], len(self.stat_ids) + 1)))
        else:
            body.append(({int: 4, float: 2, str: 5, bytes: 6}[type(value)], value))
        return body

    def event(self, name, offset_ps, duration_ps, **stats):
        number = self.event_ids.setdefault(name, len(self.event_ids) + 1)
        return (4, [(1, number), (2, offset_ps), (3, duration_ps)] +
                [(4, self.stat(key, value)) for key, value in stats.items()])

    def line(self, number, name, timestamp_ns, *events):
        self.lines.append((3, [(1, number), (2, name), (3, timestamp_ns), *events]))

    def fields(self):
        names = [(4, [(1, number), (2, [(1, number), (2, name)] + self.event_stats.get(name, [])) ])
                 for name, number in self.event_ids.items()]
        stats = [(6, stat) for stat in self.stats]
        return [(1, 1), (2, self.name), *self.lines, *names,
                *[(5, [(1, number), (2, [(1, number), (2, name)])])
                  for name, number in self.stat_ids.items()], *stats]


def device(vendor="AMD"):
    plane = Plane("/device:GPU:1")
    plane.line(17, "Stream #17(Kernel)", 1000,
               plane.event("gemm", 500, 2_000_499, correlation_id=7, hlo_op="dot.1",
                           hlo_module=("jit_f",),
                           kernel_details=" grid:16,2,1 block:512,1,1 private_mem:0 group_mem:64 "
                                          "occ_pct:0"),
               plane.event("add", 3_000_000, 0, correlation_id=99))
    plane.line(18, "Stream #18(MemcpyH2D)", 1000,
               plane.event("MemcpyH2D", 5_000_000, 1_000_000, correlation_id=8,
                           memcpy_details="kind:Unknown size:655360 dest:2 async:1"),
               plane.event("Memset", 7_000_000, 1_000_000, memset_details="kind:x size:64 async:0"))
    plane.line(2, "XLA Modules", 1000, plane.event("jit_f(1)", 0, 9_000_000, run_id=3))
    plane.stats = [plane.stat("device_vendor", vendor), plane.stat("core_count", 304),
                   plane.stat("clock_rate", 2_100_000), plane.stat("memory_bandwidth", 5.5)]
    return plane


def host():
    plane = Plane("/host:CPU")
    plane.line(4711, "python3", 900,
               plane.event("hipLaunchKernel", 10_000, 20_000, correlation_id=7),
               plane.event("hipMemcpyAsync", 40_000, 20_000, correlation_id=8),
               plane.event("step", 0, 500_000, _r=1),
               (4, [(1, 1), (5, 12)]))
    return plane


def space(*planes, hosts=("node7",)):
    return message(*[(1, plane.fields()) for plane in planes], *[(4, name) for name in hosts])


class XPlane(import_case.ImportCase):
    def test_planes(self):
        environment = Plane("Task Environment")
        environment.stats = [environment.stat("profile_start_time", 1_700_000_000_000_000_000)]
        self.load(space(device(), host(), environment), "vm.xplane.pb", skipped=1)
        self.assertIn("1 events that say only how often", self.said)
        self.assertEqual(self.ops(), [
            (1, 17, 1001, 3001, "gemm", "KernelExecution"), (1, 17, 4000, 4000, "add",
                                                             "KernelExecution"),
            (1, 18, 6000, 7000, "", "CopyHostToDevice"), (1, 18, 8000, 9000, "", "FillBuffer")])
        self.assertEqual(self.apis(", category, args"), [
            (0, 4711, 900, 1400, "step", "/host:CPU", '{"_r":1}'),
            (0, 4711, 910, 930, "hipLaunchKernel", "/host:CPU", '{"correlation_id":7}'),
            (0, 4711, 940, 960, "hipMemcpyAsync", "/host:CPU", '{"correlation_id":8}'),
            (0, self.rows("SELECT tid FROM sonde_thread WHERE name LIKE '%XLA Modules'")[0][0], 1000,
             10000, "jit_f(1)", "XLA Modules", '{"run_id":3}')])
        self.assertEqual(self.links(), [(910, 1001), (940, 6000)])
        self.assertEqual(self.rows("""SELECT bytes, grid_x, group_x, group_segment_bytes
            FROM sonde_op_detail ORDER BY op_id"""),
                         [(None, None, 512, 64), (None, None, None, None),
                          (655360, None, None, None), (64, None, None, None)])
        self.assertEqual(self.rows("SELECT args FROM sonde_op_args LIMIT 1")[0][0],
                         '{"correlation_id":7,"hlo_op":"dot.1","hlo_module":"jit_f",'
                         '"kernel_details":" grid:16,2,1 block:512,1,1 private_mem:0 group_mem:64 '
                         'occ_pct:0"}')
        self.assertEqual(self.rows("SELECT gpu_id, vendor, backend, compute_units, clock_mhz "
                                   "FROM sonde_device"), [(1, "AMD", "hip", 304, 2100)])
        self.assertEqual(self.rows("SELECT host FROM sonde_process"), [("node7",)])
        self.assertIn(("Task Environment: profile_start_time", "1700000000000000000"),
                      self.rows("SELECT key, value FROM sonde_note"))

    def test_direction_of_a_copy(self):
        """By the event; by the stream, which XLA names after all kinds on it, only where that has one."""
        plane = Plane("/device:GPU:0")
        for number, kinds in ((20, "MemcpyD2H,MemcpyH2D"), (21, "Memset,MemcpyD2H")):
            plane.line(number, f"Stream #{number}({kinds})", 1000,
                       *[plane.event(name, number * 1_000_000 + i * 1000, 0, memcpy_details="size:8")
                         for i, name in enumerate(("MemcpyH2D", "MemcpyD2H", "Memcpy"))])
        self.load(space(plane), "x.xplane.pb")
        self.assertEqual([(queue, kind) for _, queue, _, _, _, kind in self.ops()], [
            (20, "CopyHostToDevice"), (20, "CopyDeviceToHost"), (20, "Copy"),
            (21, "CopyHostToDevice"), (21, "CopyDeviceToHost"), (21, "CopyDeviceToHost")])

    def test_grid_of_cuda_counts_groups(self):
        self.load(space(device("Nvidia")), "x.xplane.pb")
        self.assertEqual(self.rows("SELECT grid_x, grid_y FROM sonde_op_detail WHERE grid_x"),
                         [(16 * 512, 2)])

    def test_files_merge_by_the_start_of_their_profiles(self):
        paths = []
        for rank in range(2):
            plane = Plane("Task Environment")
            plane.stats = [plane.stat("profile_start_time", 10**18 * 2 + rank * 5000)]
            paths.append(self.folder / f"{rank}.xplane.pb")
            paths[-1].write_bytes(space(host(), plane))
        self.run_sonde("import", *paths, "-o", "m.rpd")
        starts = self.run_sonde("query", "m.rpd", "SELECT start FROM rocpd_api WHERE apiName_id IN (SELECT id FROM "
                                "rocpd_string WHERE string = 'step') ORDER BY 1", "--format", "csv")
        self.assertEqual(starts.stdout.split()[-2:], ["900", "5900"])

    def test_hostile(self):
        plane = Plane("/host:CPU")
        late = (1 << 53) + 12345
        names = ['say "hi"', "line\nbreak", "x" * 10_000, "é漢🙂"]
        plane.line(1, "t", late, *[plane.event(name, i * 1000, 0) for i, name in enumerate(names)],
                   plane.event("negative", 0, -5), (4, [(1, 999), (2, 5000)]),
                   plane.event("endless", (1 << 63) - 1, (1 << 63) - 1))
        plane.event_ids[b"bad \xff"] = plane.event_ids.pop("endless")
        self.load(space(plane, hosts=()), skipped=1)
        self.assertIn("1 events that end before they start", self.said)
        self.assertIn("1 events whose name the file does not have", self.said)
        got = self.apis()
        self.assertEqual([row[2:5] for row in got][:4],
                         [(late + i, late + i, name) for i, name in enumerate(names)])
        self.assertEqual(got[-1][4], "bad �")
        self.assertEqual(got[-1][3] - got[-1][2], ((1 << 63) - 1 + 500) // 1000)

    def test_what_breaks_off_keeps_what_came_before(self):
        whole = space(host(), device())
        for cut, ops in ((len(whole) - 10, 4), (len(space(host(), hosts=())) + 200, None), (60, 0)):
            self.load(whole[:cut], "x.xplane.pb", skipped=1 if cut > 100 else 0)
            if ops is not None:
                self.assertEqual(len(self.ops()), ops, cut)
        self.load(whole[:-10] + b"\x0b\x01", "x.xplane.pb", skipped=1)
        packed = gzip.compress(whole)
        self.load(packed[:-20], "x.xplane.pb", skipped=1)
        self.assertIn("the compressed file is cut off", self.said)
        self.assertGreater(len(self.apis()), 0)


if __name__ == "__main__":
    import_case.main()
