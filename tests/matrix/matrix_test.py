#!/usr/bin/python3
"""Tests of ./dev matrix, without a root: what is kept, what is run again, and what the table says."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import areas  # noqa: E402
import matrix  # noqa: E402
import results  # noqa: E402
import root  # noqa: E402
import summarise  # noqa: E402

JUNIT = """<testsuite>
<testcase name="hip.oracle.vadd" status="run"><system-out>fine</system-out></testcase>
<testcase name="hip.oracle.storm" status="{status}">{inside}<system-out>skip needs a GPU
</system-out></testcase>
</testsuite>"""
FAILED = {"status": "fail", "inside": '<failure message=""/>'}


class Outcome(unittest.TestCase):
    def outcome(self, status, text):
        with tempfile.TemporaryDirectory() as folder:
            junit = Path(folder, "junit.xml")
            if text is not None:
                junit.write_text(text)
            return results.of_status(status, junit, summarise.summarise)

    def test_of_tests(self):
        found = self.outcome(0, JUNIT.format(status="run", inside=""))
        self.assertEqual((found["state"], found["text"]), ("passed", "2 passed"))
        self.assertEqual(found["skipped"], ["hip.oracle.storm: needs a GPU"])
        found = self.outcome(8, JUNIT.format(**FAILED))
        self.assertEqual((found["state"], found["text"]), ("failed", "1 of 2 FAILED"))
        self.assertEqual(found["failed"], ["hip.oracle.storm"])

    def test_that_did_not_run(self):
        self.assertEqual(self.outcome(None, JUNIT.format(**FAILED))["state"], "late")
        self.assertEqual(self.outcome(8, None)["state"], "missing")
        self.assertEqual(self.outcome(0, "<testsuite/>")["state"], "missing")
        self.assertEqual(self.outcome(8, "cut off <test")["state"], "missing")

    def test_without_tests(self):
        self.assertEqual(results.of_status(0, None, None)["state"], "passed")
        self.assertEqual(results.of_status(3, None, None)["text"], "FAILED (3)")


def found_of(state="passed", commit="c1", **more):
    text = {"passed": "5 passed", "failed": "1 of 5 FAILED"}[state]
    return {"state": state, "text": text, "seconds": 12.4, "commit": commit, "failed": [], "skipped": [], **more}


class Kept(unittest.TestCase):
    def test_only_what_passed_with_this_commit_is_done(self):
        found = {"areas": {"hip": found_of(), "hsa": found_of("failed")}}
        self.assertTrue(results.is_done(found, "hip", "c1"))
        self.assertFalse(results.is_done(found, "hip", "c2"))
        self.assertFalse(results.is_done(found, "hsa", "c1"))
        self.assertFalse(results.is_done(found, "torch", "c1"))

    def test_survives_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "sid.json")
            self.assertEqual(results.load(file), {"areas": {}})
            results.save(file, {"areas": {"hip": found_of()}})
            self.assertEqual(results.load(file)["areas"]["hip"]["text"], "5 passed")

    def test_a_second_run_does_what_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            one = run_of(folder)
            first = ran(one, {"hip": 0, "hsa": 1})
            self.assertEqual(first, ["packages", "build", "hip", "hsa"])
            again = run_of(folder)
            self.assertEqual(ran(again, {"hip": 0, "hsa": 0}), ["hsa"])
            other = run_of(folder, commit="c2")
            self.assertEqual(ran(other, {"hip": 0, "hsa": 0}), ["packages", "build", "hip", "hsa"])

    def test_without_a_build_nothing_more_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(ran(run_of(folder), {"build": 2, "hip": 0}), ["packages", "build"])


def run_of(folder, commit="c1"):
    options = mock.Mock(again=False, fresh=False)
    return matrix.Run(root.Root(folder, "trixie"), options, commit)


def ran(run, statuses):
    """The areas that were run, each with its status: without tests, so that the status decides."""
    names = []
    chosen = [areas.PACKAGES, areas.BUILD, *(areas.Area(name, "", 1, script="x") for name in statuses
                                            if name not in ("packages", "build"))]
    by_command = {area.command(): area.name for area in chosen[:2]}

    def fake(script, log, data=None, limit_s=None):
        name = by_command.get(script) or Path(log).stem
        names.append(name)
        return statuses.get(name, 0)

    run.root.run = fake
    run.root.ask = lambda script: "g++ 4:14.2.0-1\nllvm-17-dev 1:17.0.6-22+b2\n"
    with contextlib.redirect_stdout(io.StringIO()):
        run.areas(chosen)
    return names


class Table(unittest.TestCase):
    FOUND = {"trixie": {"areas": {"hip": found_of("failed", "0123456789abcdef",
                                                     failed=["hip.oracle.storm", "hip.headers"])},
                        "versions": {"HIP": "5.7.1"}, "commit": "0123456789abcdef", "date": "2026-11-25",
                        "left_out": ["the tests of HSA alone (no lld)"]},
             "sid": {"areas": {}}}
    AREAS = [areas.Area("hip", "", 1), areas.Area("hsa", "", 1)]

    def test_table(self):
        lines = [line.split() for line in results.table(["trixie", "sid"], self.FOUND, self.AREAS).splitlines()]
        self.assertIn(["HIP", "5.7.1", "-"], lines)
        self.assertIn(["hip", "1", "of", "5", "FAILED,", "12", "s", "-"], lines)
        self.assertIn(["hsa", "-", "-"], lines)
        markdown = results.table(["trixie"], self.FOUND, self.AREAS, markdown=True).splitlines()
        self.assertEqual(markdown[:2], ["|  | trixie |", "|---|---|"])
        self.assertIn("| commit | 0123456789 |", markdown)

    def test_an_area_of_an_earlier_commit_says_so(self):
        found = {"trixie": {"areas": {"hip": found_of(commit="fedcba9876")}, "commit": "0123456789abcdef"}}
        self.assertIn("5 passed, 12 s (fedcba98)", results.table(["trixie"], found, self.AREAS))

    def test_areas_that_do_not_exist_are_refused(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(matrix.main(["trixie", "--areas", "units,hip"]), 1)
        self.assertIn("is none of the areas", said.getvalue())

    def test_what_failed_is_explained_or_said_not_to_be(self):
        known = [{"suites": ["trixie"], "test": "storm$", "why": "push and pop"},
                 {"suites": ["sid"], "test": "headers", "why": "another suite"}]
        self.assertEqual(results.remarks("trixie", self.FOUND["trixie"], known),
                         ["trixie: FAILED hip.oracle.storm: push and pop",
                          "trixie: FAILED hip.headers: not explained",
                          "trixie: left out: the tests of HSA alone (no lld)"])

    def test_figures_are_compared(self):
        junit = JUNIT.format(status="run", inside="").replace("fine", "1 process\nfigures: 3 ops, 4 calls\n")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "junit.xml")
            file.write_text(junit)
            bookworm = results.of_status(0, file, summarise.summarise)
        self.assertEqual(bookworm["figures"], {"hip.oracle.vadd": "3 ops, 4 calls"})
        trixie = found_of(figures={"hip.oracle.vadd": "3 ops, 4 calls", "hip.oracle.alone": "1 ops"})
        found = {"bookworm": {"areas": {"hip": bookworm}}, "trixie": {"areas": {"hip": trixie, "hsa": found_of()}},
                 "sid": {"areas": {"hip": found_of(figures={"hip.oracle.vadd": "2 ops, 4 calls"})}}}
        self.assertEqual(results.compared(["bookworm", "trixie"], found),
                         ["figures of 1 of 1 recorded programs are the same on bookworm, trixie"])
        self.assertEqual(results.compared(["trixie", "sid"], found)[0],
                         "figures of hip.oracle.vadd differ: trixie 3 ops, 4 calls; sid 2 ops, 4 calls")
        self.assertEqual(results.compared(["sid"], found), [])

    def test_green(self):
        self.assertFalse(results.is_green(self.FOUND["trixie"], self.AREAS))
        self.assertFalse(results.is_green({"areas": {"hip": found_of()}}, self.AREAS))
        self.assertTrue(results.is_green({"areas": {"hip": found_of(), "hsa": found_of()}}, self.AREAS))

    def test_versions(self):
        listing = "cmake 4.3.4-1\nlibhsa-runtime-dev 6.4.3+dfsg-5\nllvm-21-dev 1:21.1.8-74\nzsh 5.9-4\n"
        self.assertEqual(results.versions_of(listing), {"CMake": "4.3.4", "ROCr": "6.4.3", "LLVM": "21.1.8"})


class Roots(unittest.TestCase):
    def test_too_small_a_disk_is_refused_before_anything_is_made(self):
        with tempfile.TemporaryDirectory() as folder:
            new = root.Root(folder, "sid")
            with mock.patch.object(matrix, "free_bytes", return_value=5e9), \
                    self.assertRaisesRegex(root.RootError, r"5.0 GB free, and sid may take \d+\.\d GB"):
                matrix.check_disk([new])
            Path(folder, "sid/etc").mkdir(parents=True)
            Path(folder, "sid/etc/debian_version").touch()
            bare = new.needed_bytes()
            Path(folder, "sid/usr/bin").mkdir(parents=True)
            Path(folder, "sid/usr/bin/hipcc").touch()
            self.assertLess(new.needed_bytes(), bare)

    def test_a_root_that_is_in_use_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            held = root.Root(folder, "sid").lock()
            with self.assertRaisesRegex(root.RootError, rf"process {os.getpid()} runs ./dev matrix on .*sid"):
                root.Root(folder, "sid").lock()
            root.Root(folder, "trixie").lock().close()
            held.close()
            root.Root(folder, "sid").lock().close()

    def test_a_checkout_follows_the_commit_and_keeps_its_build(self):
        with tempfile.TemporaryDirectory() as folder:
            ours = Path(folder, "ours")
            ours.mkdir()
            root.git(ours, "init", "-q")
            (ours / ".gitignore").write_text("build/\n")
            for text in ("one", "two"):
                (ours / "file").write_text(text)
                root.git(ours, "add", "-A")
                root.git(ours, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", text)
            place = root.Root(folder, "sid")
            checkout = place.path / "opt/sonde"
            place.clone(ours, root.git(ours, "rev-parse", "HEAD~1"))
            self.assertEqual((checkout / "file").read_text(), "one")
            (checkout / "build").mkdir()
            (checkout / "build/kept").touch()
            (checkout / "stray").touch()
            place.clone(ours, root.git(ours, "rev-parse", "HEAD"))
            self.assertEqual((checkout / "file").read_text(), "two")
            self.assertTrue((checkout / "build/kept").exists())
            self.assertFalse((checkout / "stray").exists())


class CommandLine(unittest.TestCase):
    def refused(self, *words):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(matrix.main(list(words)), 1)
        return err.getvalue()

    def test_words(self):
        self.assertEqual(matrix.parse([])[1:], ("run", ["bookworm", "trixie"]))
        self.assertEqual(matrix.parse(["sid", "--areas", "hip"])[1:], ("run", ["sid"]))
        self.assertEqual(matrix.parse(["table", "sid"])[1:], ("table", ["sid"]))
        self.assertEqual(matrix.parse(["table", "--markdown", "sid"])[1:], ("table", ["sid"]))
        self.assertEqual(matrix.parse(["enter", "sid", "ls", "--help"])[1:], ("enter", ["sid", "ls", "--help"]))
        self.assertIn("'buster' is no suite", self.refused("buster"))
        self.assertIn("no regular expression", self.refused("--areas", "(", "sid"))
        self.assertIn("there is no root of sid", self.refused("--roots", "/nowhere", "enter", "sid"))

    def test_areas(self):
        self.assertEqual([area.name for area in areas.named("^hip$")], ["packages", "build", "hip"])
        self.assertEqual([area.name for area in areas.named("")], [area.name for area in areas.AREAS])
        known = results.load_known(HERE / "known.toml")
        self.assertTrue(all(entry["why"] and entry["test"] for entry in known))


if __name__ == "__main__":
    unittest.main()
