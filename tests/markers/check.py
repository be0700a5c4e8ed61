#!/usr/bin/env python3
"""Marker backends against the printing agent: what each program says it did must arrive, once, with
its text, domain, category and nesting. check.py --build DIR [unittest arguments]"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path("build")
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY_NAMES = [
    "libroctx64.so", "libroctx64.so.1", "libroctx64.so.4", "librocprofiler-sdk-roctx.so",
    "librocprofiler-sdk-roctx.so.0", "librocprofiler-sdk-roctx.so.1",
]


def lib(name):
    return str(BUILD / "lib" / "sonde" / name)


def program(name):
    return str(BUILD / "tests" / "programs" / name)


AGENT = "tests/fakes/libprint_agent.so"


def roctx_environment():
    """As the recorder sets it: preloaded, and found under the names of the originals."""
    return {"LD_PRELOAD": lib("libsonde-roctx.so"), "LD_LIBRARY_PATH": lib("roctx")}


def nvtx_environment():
    return {"NVTX_INJECTION64_PATH": lib("libsonde-nvtx.so")}


def itt_environment():
    return {"INTEL_LIBITTNOTIFY64": lib("libsonde-itt.so")}


def utf8(text):
    """The printing agent writes each byte of a text that is not ASCII as one escape."""
    return text.encode("latin-1").decode("utf-8", "replace") if text is not None else None


class Run:
    """A finished program: what it said, and the agent's events put together into ranges."""

    def __init__(self, command, environment, agent=True):
        env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
        env.update(environment)
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "events"
            if agent:
                env["PRINT_AGENT_OUT"] = str(out)
                preload = [str(BUILD / AGENT), environment.get("LD_PRELOAD", "")]
                env["LD_PRELOAD"] = ":".join(filter(None, preload))
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
            lines = out.read_text().splitlines() if out.exists() else []
        self.status = done.returncode
        self.stderr = done.stderr
        self.said = json.loads(done.stdout) if done.stdout.strip() else {}
        self.events = [json.loads(line) for line in lines]
        for event in self.events:
            for field in ("text", "domain", "category", "name", "key", "value"):
                if isinstance(event.get(field), str):
                    event[field] = utf8(event[field])
        self.stray = []
        self.ranges = self.join_ranges()

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def join_ranges(self):
        """(text, domain, category, depth) of every range that was begun and ended."""
        open_by_thread = collections.defaultdict(list)
        open_by_id = {}
        ranges = []
        for event in self.events:
            stack = open_by_thread[event["tid"], event.get("domain")]
            entry = (event.get("text"), event.get("domain"), event.get("category"), len(stack))
            if event["event"] == "range_push":
                stack.append(entry)
            elif event["event"] == "range_pop":
                if stack:
                    ranges.append(stack.pop())
                else:
                    self.stray.append(event)
            elif event["event"] == "range_start":
                open_by_id[event["id"]] = entry[:3] + (None,)
            elif event["event"] == "range_at":
                ranges.append(entry[:3] + (None,))
            elif event["event"] == "range_stop":
                if event["id"] in open_by_id:
                    ranges.append(open_by_id.pop(event["id"]))
                else:
                    self.stray.append(event)
        self.left_open = [entry for stack in open_by_thread.values() for entry in stack]
        self.left_open += open_by_id.values()
        return ranges

    def marks(self):
        return [(e["text"], e["domain"], e["category"]) for e in self.of("mark")]

    def metadata(self):
        return {e["key"]: e["value"] for e in self.of("metadata")}


class Case(unittest.TestCase):
    maxDiff = None

    def run_marked(self, command, environment, agent=True):
        run = Run(command, environment, agent)
        self.assertEqual(run.status, 0, run.stderr)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.said.get("errors", 0), 0)
        if agent:
            self.assertEqual(len(run.ranges), run.said["ranges"])
            self.assertEqual(len(run.marks()), run.said.get("marks", 0))
        return run


class SondeHeader(Case):
    """Programs that use sonde.h; the agent is all they need."""

    def test_storm(self):
        for mode, texts in (("constant", 1), ("changing", 64), ("unique", 1200)):
            run = self.run_marked(
                [program("mark_storm"), "--threads", "4", "--pairs", "300", "--mode", mode], {})
            self.assertEqual(run.said["ranges"], 1200)
            self.assertEqual(len({entry[0] for entry in run.ranges}), texts)
            self.assertEqual(run.left_open, [])

    def test_short_lived_threads(self):
        run = self.run_marked([program("mark_threads")], {})
        self.assertEqual(run.said["ranges"], 6000)
        self.assertEqual(len({entry[0] for entry in run.ranges}), 6000)

    def test_nested(self):
        run = self.run_marked([program("mark_nested")], {})
        self.assertEqual(run.said["recorded"], 1)
        for text, _, _, depth in run.ranges:
            self.assertEqual(int(text.split()[-1]), depth)
        self.assertEqual([entry[0] for entry in run.left_open], ["left open"])

    def test_start_stop_across_threads(self):
        run = self.run_marked([program("mark_startstop")], {})
        self.assertEqual(len({entry[0] for entry in run.ranges}), run.said["ranges"])
        starters = {e["id"]: e["tid"] for e in run.of("range_start")}
        stoppers = {e["id"]: e["tid"] for e in run.of("range_stop")}
        self.assertTrue(all(starters[i] != stoppers[i] for i in starters))

    def test_every_function(self):
        run = self.run_marked([program("mark_api")], {})
        self.assertEqual(
            [text for text, _, _ in run.marks()],
            ["before", "", 'grüß "quoted" \\ and\nnewline', "x" * 10000, "recorded again"])
        self.assertIn("y" * 10000, [entry[0] for entry in run.ranges])
        self.assertEqual([e["value"] for e in run.of("counter")], [0.25, -1e300])
        self.assertEqual(run.metadata(), {"batch size": "64"})

    def test_without_agent(self):
        for name in ("mark_storm", "mark_threads", "mark_nested", "mark_startstop", "mark_api"):
            self.run_marked([program(name)], {}, agent=False)

    def test_dies_as_told(self):
        for how, status in (("segv", -11), ("abort", -6), ("_exit", 7), ("sigterm", -15),
                            ("sigkill", -9)):
            with tempfile.NamedTemporaryFile() as progress:
                run = Run([program("mark_storm"), "--pairs", "100", "--die", how, "--after", "50",
                           "--progress", progress.name], {})
                self.assertEqual(run.status, status)
                self.assertEqual(int.from_bytes(progress.read(8), "little"), 50)
                self.assertEqual(len(run.ranges), 50)


    @staticmethod
    def counts(progress):
        raw = progress.read_bytes() if progress.exists() else b""
        return [int.from_bytes(raw[i:i + 8], "little") for i in range(0, len(raw), 8)]

    def test_killed_while_marking(self):
        """What was done before a SIGKILL is known to within one pair per thread."""
        with tempfile.TemporaryDirectory() as folder:
            progress = pathlib.Path(folder) / "progress"
            out = pathlib.Path(folder) / "events"
            env = dict(os.environ, LD_PRELOAD=str(BUILD / AGENT), PRINT_AGENT_OUT=str(out))
            command = [program("mark_storm"), "--threads", "2", "--busy", "--progress", progress]
            with subprocess.Popen(command, env=env) as running:
                while min(self.counts(progress), default=0) < 100:
                    self.assertIsNone(running.poll())
                    time.sleep(0.01)
                running.kill()
            done = self.counts(progress)
            text = out.read_bytes()
            pops = text.count(b'"event":"range_pop"')
            self.assertLessEqual(sum(done), pops)
            self.assertLessEqual(pops, sum(done) + 2)


class Libraries(unittest.TestCase):
    """What a library that is loaded into every traced program may bring with it."""

    EXPORTS = {
        "libsonde-roctx.so": {
            "roctx_version_major", "roctx_version_minor", "roctxMarkA", "roctxRangePushA",
            "roctxRangePop", "roctxRangeStartA", "roctxRangeStop", "roctxRegisterTracerCallback",
            "roctxProfilerPause", "roctxProfilerResume", "roctxNameOsThread", "roctxNameHsaAgent",
            "roctxNameHipDevice", "roctxNameHipStream", "roctxGetThreadId", "ROCTX_4.1",
            "roctracer_start", "roctracer_stop", "ROCTRACER_4.1"},
        "libsonde-nvtx.so": {"InitializeInjectionNvtx2", "InitializeInjectionNvtx2Preinject", "sonde_nvtx_attach"},
        "libsonde-itt.so": {"__itt_api_init", "sonde_itt_attach"},
    }

    def test_only_what_is_needed(self):
        for name, exports in self.EXPORTS.items():
            with self.subTest(name):
                symbols = subprocess.check_output(["nm", "-D", "--defined-only", lib(name)],
                                                  text=True)
                defined = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
                self.assertEqual(defined, exports)
                dynamic = subprocess.check_output(["readelf", "-dW", lib(name)], text=True)
                # libdl and libpthread are part of libc from glibc 2.34 on; RHEL 8 has 2.28.
                self.assertLessEqual(set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)),
                                     {"libc.so.6", "libdl.so.2", "libpthread.so.0"})
                self.assertIn("NODELETE", dynamic)
                # The one initialiser is the compiler's own; ours run at the first call.
                self.assertEqual(re.findall(r"\(INIT_ARRAYSZ\)\s+(\d+)", dynamic), ["8"])
                headers = subprocess.check_output(["readelf", "-lW", lib(name)], text=True)
                tls = [int(line.split()[5], 16) for line in headers.splitlines() if " TLS " in line]
                self.assertLessEqual(sum(tls), 16)


class Roctx(Case):
    def check_basic(self, run):
        texts = [entry[0] for entry in run.ranges]
        self.assertEqual(sorted(texts), ["a", "b", "inner", "outer"])
        self.assertEqual({entry[1] for entry in run.ranges}, {"roctx"})
        depths = {entry[0]: entry[3] for entry in run.ranges}
        self.assertEqual((depths["outer"], depths["inner"]), (0, 1))
        self.assertEqual([text for text, _, _ in run.marks()][:2], ["moment", ""])

    def test_linked_with_the_old_library(self):
        run = self.run_marked([program("mark_roctx_old")], roctx_environment())
        self.check_basic(run)

    def test_linked_with_the_sdk_library(self):
        run = self.run_marked([program("mark_roctx_sdk")], roctx_environment())
        self.check_basic(run)
        self.assertEqual([text for text, _, _ in run.marks()], ["moment", "", "resumed"])
        self.assertEqual(len(run.of("stop")), 1)
        self.assertEqual(len(run.of("start")), 1)
        self.assertEqual([e["name"] for e in run.of("name_thread")], ["main thread"])
        self.assertEqual(run.metadata(), {
            "name.hip_device.3": "big gpu", "name.hip_stream.0x1234": "copies",
            "name.hsa_agent.0xabc": "agent"})

    def test_preloaded_only(self):
        """Linked programs need no more than the preload."""
        run = self.run_marked([program("mark_roctx_sdk")],
                              {"LD_PRELOAD": lib("libsonde-roctx.so")})
        self.check_basic(run)

    def test_opened_by_every_name(self):
        for name in LIBRARY_NAMES:
            with self.subTest(name):
                run = self.run_marked([program("mark_roctx_open"), "--library", name],
                                      roctx_environment())
                self.assertEqual([entry[0] for entry in run.ranges], ["opened"])

    def test_opened_without_preload(self):
        run = self.run_marked([program("mark_roctx_open")], {"LD_LIBRARY_PATH": lib("roctx")})
        self.assertEqual(run.said["ranges"], 1)

    def test_two_names_are_one_library(self):
        run = self.run_marked(
            [program("mark_roctx_open"), "--library", ",".join(LIBRARY_NAMES), "--pairs", "5"],
            roctx_environment())
        self.assertEqual(run.said["ranges"], 5)

    def test_ctypes(self):
        for name in LIBRARY_NAMES:
            with self.subTest(name):
                run = self.run_marked(
                    ["/usr/bin/python3", str(SOURCE / "tests/programs/mark_roctx.py"), name],
                    roctx_environment())
                self.assertEqual({text for text, _, _ in run.marks()}, {"mark ü"})

    def test_without_agent(self):
        """What the program sees is the same, and the originals are still not called."""
        for name in ("mark_roctx_old", "mark_roctx_sdk"):
            self.run_marked([program(name)], roctx_environment(), agent=False)
        python = ["/usr/bin/python3", str(SOURCE / "tests/programs/mark_roctx.py")]
        self.run_marked(python, roctx_environment(), agent=False)

    def test_the_stand_in_for_the_original_agrees(self):
        for name in ("mark_roctx_old", "mark_roctx_sdk"):
            run = Run([program(name)], {}, agent=False)
            self.assertEqual(run.status, 0, run.stderr)
            self.assertIn("vendor roctx called", run.stderr)


class Nvtx(Case):
    def test_own_client(self):
        run = self.run_marked([program("mark_nvtx")], nvtx_environment())
        self.assertEqual(run.said["injected"], 1)
        expected = [
            ("main thread", "nvtx", None, 0), ("other thread", "nvtx", None, 0),
            ("outer", "nvtx", None, 0), ("wïde \U0001f600", "nvtx", None, 1),
            ("in category", "nvtx", "io", 2), ("started", "nvtx", None, None),
            ("started wïde", "nvtx", None, None), ("registered", "lib.x", "net", 0),
            ("registered", "lib.x", "net", 1), ("registered", "lib.x", "net", 0),
            ("plain", "lib.ÿ", "7", 0), ("plain", "lib.ÿ", "7", None),
            ("acquire my lock", "nvtx", "sync", 0)]
        self.assertEqual(sorted(run.ranges, key=str), sorted(expected, key=str))
        self.assertEqual(run.marks(), [
            ("moment", "nvtx", None), ("", "nvtx", None), ("wïde moment", "nvtx", None),
            ("unnamed category", "nvtx", "99"), ("", "nvtx", None), ("", "nvtx", None),
            ("registered", "lib.x", "net"), ("plain", "nvtx", "io")])
        self.assertEqual(run.metadata(), {
            "name.cuda_device.2": "gpu twö", "name.cuda_stream.0x55": "compute stream",
            "name.opencl_queue.0x66": "queue", "name.nvtx_resource.0x77": "a lock"})
        self.assertEqual([e["name"] for e in run.of("name_thread")], ["nvtx main", "by resource"])
        self.assertEqual(run.stray, [])

    def test_real_header(self):
        run = Run([program("mark_nvtx3")], nvtx_environment())
        if run.status == 77:
            self.skipTest(run.said["skipped"])
        run = self.run_marked([program("mark_nvtx3")], nvtx_environment())
        self.assertEqual(run.said["injected"], 1)
        self.assertEqual(sorted(run.ranges, key=str), sorted([
            ("real header", "nvtx", "four", 1), ("outer", "nvtx", None, 0),
            ("real string", "real domain", "4", None)], key=str))

    def test_without_agent(self):
        for name in ("mark_nvtx", "mark_nvtx3"):
            run = Run([program(name)], nvtx_environment(), agent=False)
            self.assertIn(run.status, (0, 77), run.stderr)
            self.assertEqual(run.said.get("injected", 0), 0)


class Itt(Case):
    def test_own_copies(self):
        run = self.run_marked([program("mark_itt")], itt_environment())
        self.assertEqual(run.said["collected"], 1)
        tasks = [(text, domain, None, depth) for domain in ("app.domain", "lib.domain")
                 for text, depth in (("outer", 0), ("inner", 1))]
        fn = [entry for entry in run.ranges if entry[0].startswith("0x")]
        self.assertEqual(len(fn), 2)
        rest = [entry for entry in run.ranges if entry not in fn]
        expected = tasks + [
            ("lap a", "app.domain", None, None), ("lap b", "app.domain", None, None),
            ("app.domain", "app.domain", "frame", None),
            ("app.domain", "app.domain", "frame", None),  # the one submitted
            ("region", "app.domain", "region", None), ("phase", "itt", "event", None),
            ("old frame", "old frame", "frame", None)]
        self.assertEqual(sorted(rest, key=str), sorted(expected, key=str))
        self.assertEqual(run.marks(), [
            ("moment", "app.domain", None), ("moment", "lib.domain", None),
            ("model=vgg", "app.domain", "metadata"), ("layer=conv", "app.domain", "metadata"),
            ("app.domain", "app.domain", "frame"), ("checkpoint 42", "itt", None),
            ("resumed", "app.domain", None)])
        self.assertEqual([(e["name"], e["value"]) for e in run.of("counter")], [
            ("here.made", 1.5), ("io.bytes", 1), ("io.bytes", 10), ("io.bytes", 9), ("io.bytes", 1 << 20),
            ("ratio", 0.5), ("ratio", 2.5), ("app.domain.steps", 3)])
        self.assertEqual(run.metadata(),
                         {"app.domain.model": "resnet50", "app.domain.shape": "-1,0,7"})
        (frame,) = run.of("range_at")  # 5 ms of the fake agent's ticks, a quarter ns each
        self.assertGreaterEqual(frame["end"] - frame["begin"], 5_000_000 * 4)
        self.assertLessEqual(frame["end"], frame["at"])
        self.assertEqual([e["name"] for e in run.of("name_thread")], ["itt main"])
        self.assertEqual((len(run.of("stop")), len(run.of("start"))), (1, 1))
        self.assertEqual(run.stray, [])
        self.assertEqual(run.left_open, [])

    def test_real_tbb(self):
        if not os.path.exists(program("mark_tbb")):
            self.skipTest("TBB is not installed")
        run = Run([program("mark_tbb")], itt_environment())
        self.assertEqual(run.status, 0, run.stderr)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.stray, [])
        # A worker's own task may still be running when the program ends; those of the graph are not.
        self.assertEqual([entry for entry in run.left_open if entry[1] == "tbb.flow"], [])
        bodies = [entry for entry in run.ranges if entry[:2] == ("body", "tbb.flow")]
        self.assertEqual(len(bodies), run.said["ranges"], collections.Counter(run.ranges))
        self.assertIn("tbb_flow_graph", [e.get("text") for e in run.of("range_push")])

    def test_without_agent(self):
        for name in ("mark_itt", "mark_tbb"):
            if os.path.exists(program(name)):
                run = Run([program(name)], itt_environment(), agent=False)
                self.assertEqual(run.status, 0, run.stderr)
                self.assertEqual(run.said.get("collected", 0), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    global BUILD
    BUILD = options.build.resolve()
    unittest.main(argv=[sys.argv[0]] + rest)


if __name__ == "__main__":
    main()
