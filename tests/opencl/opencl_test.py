#!/usr/bin/python3
"""The OpenCL backend against the printing agent: opencl_test.py BUILD_DIR [unittest arguments].

Each test program keeps its own counts and prints them; the agent prints what the backend reported.
Needs an OpenCL device (PoCL will do); exit status 77 where there is none."""

import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "build")
LAYER = os.path.join(BUILD, "lib/sonde/libsonde-opencl.so")
OTHER = os.path.join(BUILD, "tests/fakes/libother_layer.so")
AGENT = os.path.join(BUILD, "tests/fakes/libprint_agent.so")
PROGRAMS = os.path.join(BUILD, "tests/programs")
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../programs")

KINDS = {1: "kernels", 2: "h2d", 3: "d2h", 4: "d2d", 5: "h2h", 6: "fills", 7: "maps", 8: "unmaps",
         9: "barriers", 10: "migrates", 11: "natives", 0: "others"}
MONOTONIC_RAW = 2
TOLERANCE_NS = 5000  # between two snapshots of a clock that runs at its own rate


class Trace:
    """What the printing agent wrote, by event."""

    def __init__(self, path):
        self.events = collections.defaultdict(list)
        if os.path.exists(path):
            with open(path, encoding="latin-1") as lines:
                for line in lines:
                    event = json.loads(line)
                    self.events[event["event"]].append(event)

    def __getattr__(self, name):
        return self.events[{"ops": "op", "calls": "call", "snapshots": "snapshot"}.get(name, name)]

    def counts(self):
        return collections.Counter(KINDS[op["kind"]] for op in self.ops)

    def bytes(self):
        sums = collections.Counter()
        for op in self.ops:
            sums[KINDS[op["kind"]]] += op["bytes"]
        return sums


def run(command, layers=(LAYER,), traced=True, status=0, **variables):
    """Runs a test program; its lines of JSON and the trace."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "agent.out")
        environment = {k: v for k, v in os.environ.items() if k != "OPENCL_LAYERS"}
        if traced:
            environment.update(LD_PRELOAD=AGENT, PRINT_AGENT_OUT=out)
        if layers:
            environment["OPENCL_LAYERS"] = ":".join(layers)
        environment.update(variables)
        if not command[0].startswith("/"):
            command = [os.path.join(PROGRAMS, command[0])] + list(command[1:])
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=300)
        if done.returncode == 77:
            raise unittest.SkipTest("no OpenCL device")
        assert done.returncode == status, f"{command}: exit status {done.returncode}"
        return done.stdout.decode(), Trace(out)


def to_ticks(snapshots, clock, value):
    """A device time in ticks of the agent, by the nearest snapshot of its clock; and how far off it
    may be."""
    near = min((s for s in snapshots if s["clock"] == clock),
               key=lambda s: abs(s["value"] - value))
    ticks = (near["before"] + near["after"]) / 2 + (value - near["value"]) * 4
    return ticks, TOLERANCE_NS * 4 + (near["after"] - near["before"]) / 2


class Counts(unittest.TestCase):
    def check_storm(self, *options):
        text, trace = run(["cl_storm", *options])
        own = json.loads(text)
        counts, sums = trace.counts(), trace.bytes()
        for kind in KINDS.values():
            self.assertEqual(counts[kind], own[kind], kind)
            self.assertEqual(sums[kind], own["bytes"][kind], kind)
        self.assertEqual(len(trace.ops), own["enqueues"])
        self.assertEqual(len({op["correlation"] for op in trace.ops}), own["enqueues"])
        failed = [c for c in trace.calls if c["correlation"] and c["result"] != 0]
        self.assertEqual(len(failed), own["failed"])
        self.assertFalse([c for c in trace.calls if c.get("broken_nesting") or "words_left" in c])
        self.assertFalse(trace.dropped)
        return own, trace

    def test_one_thread(self):
        own, trace = self.check_storm("--rounds", "60", "--queues", "2")
        names = collections.Counter(op["name"] for op in trace.ops if op["kind"] == 1)
        self.assertEqual(names, {"storm_add": 120, "storm_tile": 60, "storm_one": 60})
        self.assertEqual(len(trace.queue), 2)
        tile = next(op for op in trace.ops if op["name"] == "storm_tile")
        self.assertEqual((tile["grid"], tile["group"]), ([64, 0, 0], [8, 0, 0]))
        # PoCL of Debian 12 counts what an argument takes; that of Debian 13 does not.
        self.assertIn(own["tile_bytes"], (0, 32))
        self.assertEqual(tile["group_segment_bytes"], own["tile_bytes"])
        wide = [op for op in trace.ops if op["name"] == "storm_add" and op["grid"][1] != 0]
        self.assertTrue(wide and all(op["grid"] == [64, 4, 2] and op["group"] == [8, 2, 1]
                                     for op in wide))
        self.check_links(trace)
        self.check_times(trace)

    def check_links(self, trace):
        """Each op belongs to the call that launched it, by queue, name and handles."""
        calls = {c["correlation"]: c for c in trace.calls if c["correlation"]}
        queues = {q["id"]: q for q in trace.queue}
        for op in trace.ops:
            call = calls[op["correlation"]]
            self.assertEqual(call["result"], 0)
            self.assertEqual(int(call["args"]["queue"], 16), queues[op["queue"]]["handle"])
            self.assertEqual(call["args"].get("kernel_name") or None,
                             op["name"] if op["kind"] == 1 else None)
            if call["name"].startswith("clEnqueueRead"):
                source = call["args"].get("buffer") or call["args"]["image"]
                self.assertEqual((op["kind"], op["src"], op["dst"]),
                                 (3, int(source, 16), int(call["args"]["ptr"], 16)))
                self.assertEqual(op["flags"] & 1, call["args"]["blocking"])
            if call["name"].endswith("Rect"):
                self.assertEqual(op["size"], [32, 4, 2])

    def check_times(self, trace):
        calls = {c["correlation"]: c for c in trace.calls if c["correlation"]}
        for op in trace.ops:
            self.assertEqual(op["status"], 0)
            self.assertTrue(0 < op["queued"] <= op["submitted"] <= op["start"] <= op["end"], op)
            call = calls[op["correlation"]]
            queued, slack = to_ticks(trace.snapshots, op["clock"], op["queued"])
            self.assertTrue(call["begin"] - slack <= queued <= call["end"] + slack, (op, call))
            end, slack = to_ticks(trace.snapshots, op["clock"], op["end"])
            self.assertLessEqual(end, op["at"] + slack)

    def test_four_threads(self):
        self.check_storm("--threads", "4", "--rounds", "100", "--queues", "2")

    def test_sixty_four_threads(self):
        _, trace = self.check_storm("--threads", "64", "--rounds", "12", "--contexts", "3")
        self.assertEqual(len({q["context"] for q in trace.queue}), 3)

    def test_out_of_order(self):
        _, trace = self.check_storm("--threads", "4", "--rounds", "60", "--queues", "2",
                                    "--out-of-order")
        self.assertEqual({q["flags"] for q in trace.queue}, {1})

    def test_profiling_by_the_program(self):
        _, trace = self.check_storm("--rounds", "10", "--profiling")
        self.assertEqual({q["flags"] for q in trace.queue}, {2})

    def test_without_waiting(self):
        own, trace = self.check_storm("--threads", "2", "--rounds", "2000", "--kernels-only")
        self.assertEqual(own["kernels"], 2 * 2000 * 4)

    def test_command_that_ends_with_an_error(self):
        text, trace = run(["cl_failing"])
        status = json.loads(text)["status"]
        self.assertLess(status, 0)
        self.assertEqual([op["status"] for op in trace.ops], [status])

    def test_dlopen(self):
        text, trace = run(["cl_dlopen", "300"])
        self.assertEqual(len(trace.ops), json.loads(text)["enqueues"])

    def test_pyopencl(self):
        text, trace = run(["/usr/bin/python3", os.path.join(SOURCES, "cl_pyopencl.py"), "30"])
        own, counts = json.loads(text), trace.counts()
        for kind in ("kernels", "h2d", "d2h", "fills", "barriers"):
            self.assertEqual(counts[kind], own[kind], kind)
        self.assertEqual(len(trace.ops), own["enqueues"])


class EndOfProcess(unittest.TestCase):
    def test_killed_after_finish(self):
        for options in ("--kernels-only",), ("--kernels-only", "--out-of-order"), ():
            text, trace = run(["cl_storm", "--threads", "4", "--rounds", "400", "--kill", *options],
                              status=-9)
            self.assertEqual(len(trace.ops), json.loads(text)["enqueues"])

    def test_work_left_at_exit(self):
        text, trace = run(["cl_storm", "--rounds", "300", "--kernels-only", "--no-finish"])
        unfinished = sum(int(d["text"].split()[0]) for d in trace.diagnostic)
        self.assertEqual(len(trace.ops) + unfinished, json.loads(text)["enqueues"])

    def check_fork(self, mode):
        text, trace = run(["cl_fork", mode])
        counts = collections.Counter(op["pid"] for op in trace.ops)
        own = [json.loads(line) for line in text.splitlines()]
        self.assertFalse(trace.diagnostic)  # no work is still pending at exit
        self.assertEqual(counts, {line["pid"]: line["enqueues"] for line in own})
        return own

    def test_fork_with_pending_work(self):
        self.assertEqual(len(self.check_fork("after")), 1)

    def test_fork_and_exec(self):
        self.assertEqual(len(self.check_fork("exec")), 2)

    def test_fork_before_use(self):
        self.assertEqual(len(self.check_fork("before")), 2)


class Transparency(unittest.TestCase):
    def test_program_sees_the_same(self):
        plain, _ = run(["cl_transparent"], layers=(), traced=False)
        traced, trace = run(["cl_transparent"])
        self.assertEqual(plain, traced)
        self.assertGreater(len(trace.ops), 400)
        stopped, _ = run(["cl_transparent"], PRINT_AGENT_STOPPED="1")
        self.assertEqual(plain, stopped)

    def test_without_agent(self):
        plain, _ = run(["cl_transparent"], layers=(), traced=False)
        layered, _ = run(["cl_transparent"], traced=False)
        self.assertEqual(plain, layered)

    def test_not_recording(self):
        text, trace = run(["cl_storm", "--rounds", "5"], PRINT_AGENT_STOPPED="1")
        self.assertGreater(json.loads(text)["enqueues"], 0)
        self.assertEqual((len(trace.ops), len(trace.calls)), (0, 0))

    def test_chain(self):
        for layers in ((OTHER, LAYER), (LAYER, OTHER)):
            with tempfile.NamedTemporaryFile("r") as out:
                text, trace = run(["cl_dlopen", "200"], layers=layers, OTHER_LAYER_OUT=out.name)
                self.assertEqual(out.read(), "200\n")
                self.assertEqual(len(trace.ops), json.loads(text)["enqueues"])

    def test_library(self):
        needed = subprocess.run(["readelf", "-d", LAYER], stdout=subprocess.PIPE, check=True)
        # libdl and libpthread are part of libc from glibc 2.34 on; RHEL 8 has 2.28.
        self.assertLessEqual({line.split("[")[1].rstrip("]") for line in
                              needed.stdout.decode().splitlines() if "NEEDED" in line},
                             {"libc.so.6", "libdl.so.2", "libpthread.so.0"})
        symbols = subprocess.run(["nm", "-D", "--defined-only", LAYER], stdout=subprocess.PIPE,
                                 check=True)
        self.assertEqual(sorted(line.split()[2] for line in symbols.stdout.decode().splitlines()),
                         ["clGetLayerInfo", "clInitLayer", "sonde_opencl_attach", "sonde_opencl_detach"])


class Clocks(unittest.TestCase):
    def check_clock(self, **variables):
        layers = (OTHER, LAYER) if variables else (LAYER,)
        _, trace = run(["cl_storm", "--rounds", "100"], layers=layers, **variables)
        Counts.check_times(self, trace)
        return trace

    def test_clock_of_the_host(self):
        trace = self.check_clock()
        self.assertEqual({op["clock"] for op in trace.ops}, {MONOTONIC_RAW})
        self.assertEqual(trace.device[0]["clock"], MONOTONIC_RAW)
        self.assertEqual(trace.clock, [])

    def test_clock_of_the_device(self):
        trace = self.check_clock(OTHER_LAYER_SHIFT="1")
        self.assertEqual({op["clock"] for op in trace.ops}, {trace.clock[0]["id"]})
        self.assertTrue(all(s["value"] > 10**15 for s in trace.snapshots))
        self.assertLess(min(s["after"] - s["before"] for s in trace.snapshots), 4 * 200_000)

    def test_slow_copies_tell_little_of_the_clock(self):
        """NVIDIA's blocking copies of large buffers take 0.3 s, and the time at which they were
        enqueued lies anywhere in them: for a second or two, the snapshot before says more."""
        _, trace = run(["cl_blocking", "50"], layers=(OTHER, LAYER), OTHER_LAYER_SHIFT="1",
                       OTHER_LAYER_SLOW="40")
        self.assertEqual(len(trace.ops), 50)
        self.assertGreater(trace.ops[-1]["at"] - trace.ops[0]["at"], 4 * 1_900_000_000)
        self.assertTrue(trace.snapshots)
        self.assertLess(max(s["after"] - s["before"] for s in trace.snapshots), 4 * 10_000_000)

    def test_timer_of_the_device(self):
        trace = self.check_clock(OTHER_LAYER_SHIFT="1", OTHER_LAYER_TIMER="1")
        self.assertEqual({op["clock"] for op in trace.ops}, {trace.clock[0]["id"]})

    def test_timer_of_another_clock(self):
        """The timer works but does not tell the clock of the events: it must not be believed."""
        trace = self.check_clock(OTHER_LAYER_TIMER="1")
        self.assertEqual({op["clock"] for op in trace.ops}, {MONOTONIC_RAW})

    def test_snapshots_go_on(self):
        _, trace = run(["cl_storm", "--rounds", "4000"])
        first, last = trace.ops[0]["at"], trace.ops[-1]["at"]
        seconds = (last - first) / 4e9
        self.assertGreaterEqual(len(trace.snapshots), 1 + int(seconds / 0.25))
        self.assertLessEqual(len(trace.snapshots), 3 + int(seconds / 0.1))


if __name__ == "__main__":
    for needed in (LAYER, AGENT, os.path.join(PROGRAMS, "cl_storm")):
        if not os.path.exists(needed):
            print(f"{needed} was not built", file=sys.stderr)
            sys.exit(77)
    unittest.main(verbosity=2)
