#!/usr/bin/python3
"""Tests of the tools in this folder: each must see what it is there to see."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_arrows  # noqa: E402
import check_libraries  # noqa: E402
import reuse_object  # noqa: E402
import summarise  # noqa: E402


class ArrowsTest(unittest.TestCase):
    def problems(self, path, text):
        return check_arrows.check_file(Path(path), text)

    def test_allowed(self):
        self.assertEqual(self.problems("src/store/a.cpp", '#include "wire/records.h"\n'), [])
        self.assertEqual(self.problems("src/cli/main.cpp", '#include "export/exporter.h"\n'), [])
        self.assertEqual(self.problems("src/agent/a.cpp", '#include "sonde/backend.h"\n'), [])
        self.assertEqual(self.problems("src/agent/a_test.cpp", "#include <vector>\n"), [])

    def test_forbidden(self):
        for path, header in (("src/agent/a.cpp", "store/writer.h"),
                             ("src/wire/a.h", "agent/ring.h"),
                             ("src/analysis/a.cpp", "store/reader.h"),
                             ("src/store/a.cpp", "cli/command.h"),
                             ("src/backends/opencl/a.cpp", "record/launch.h"),
                             ("src/base/a.h", "wire/records.h"),
                             ("src/export/a.cpp", "trace/trace.h")):
            self.assertEqual(len(self.problems(path, f'#include "{header}"\n')), 1, (path, header))

    def test_sqlite_and_the_runtime_stay_where_they_belong(self):
        self.assertEqual(len(self.problems("src/analysis/a.cpp", "#include <sqlite3.h>\n")), 1)
        self.assertEqual(self.problems("src/store/a.cpp", "#include <sqlite3.h>\n"), [])
        self.assertEqual(len(self.problems("src/record/a.cpp", '\nx = "SELECT 1";\n')), 1)
        self.assertEqual(self.problems("src/record/a_test.cpp", 'x = "SELECT 1";\n'), [])
        self.assertEqual(self.problems("src/trace/a.cpp", 'x = "SELECT 1";\n'), [])
        self.assertEqual(len(self.problems("src/backends/x/a.cpp", "#include <string>\n")), 1)

    def test_the_table_of_the_page_is_what_is_checked(self):
        arrows = check_arrows.arrows_of("| `src/a` | x, y | - |\n| `src/b/*` | x | a, [c](d) |\n"
                                        "| `src/cli` | x | everything |\n| `soft/` | x | a |\n")
        self.assertEqual(arrows, {"a": {"base"}, "b": {"base", "a", "c", "d"}, "cli": {"a", "b"},
                                  "soft": {"base", "a"}})
        self.assertEqual(len(self.problems("softgpu/isa/a.cpp", '#include "store/a.h"\n')), 1)
        self.assertEqual(self.problems("softgpu/isa/a.cpp", '#include "gpu/a.h"\n'), [])
        folders = set(check_arrows.ARROWS) - {"watch"}
        self.assertEqual(check_arrows.check_folders(folders), ["ARCHITECTURE.md: there is no folder watch"])

    def test_every_package_has_a_reason(self):
        packages = "# g\n[build]\ng++ # x\nlibfmt-dev|libfmt9  # y\nlibzstd-dev\n"
        self.assertEqual(check_arrows.check_packages(packages, "| fmt (libfmt-dev) | g++, `libzstd` |"),
                         ["docs/dependencies.md: does not say what libzstd-dev is for"])

    def test_unknown_folder(self):
        self.assertEqual(len(self.problems("src/misc/a.h", "")), 1)

    def test_what_the_tool_knows_of_a_backend_is_in_record(self):
        text = '#include "record/backend.h"\n#include <string>\n'
        self.assertEqual(self.problems("src/record/backends/x.cpp", text), [])
        self.assertEqual(len(self.problems("src/backends/x/other.cpp", text)), 2)

    def test_circles_between_the_folders_of_a_folder(self):
        def circles(**files):
            texts = {Path("src/store") / name: "".join(f'#include "store/{header}"\n' for header in told)
                     for name, told in files.items()}
            return check_arrows.check_circles(texts)
        self.assertEqual(circles(**{"a/x.h": ["b/y.h", "a/z.h"], "b/y.cpp": ["b/y.h", "c.h"]}), [])
        self.assertEqual(circles(**{"a/x.h": ["b/y.h"], "b/y.cpp": ["a/z.h"]}),
                         ["src: a circle of includes: store/a -> store/b -> store/a"])
        self.assertEqual(len(circles(**{"a/x.h": ["c.h"], "c.h": ["a/x.h"]})), 1)
        self.assertEqual(circles(**{"a/x.h": ["c.h"], "c.cpp": ["a/x.h"]}), [])
        self.assertEqual(circles(**{"a/x_test.cpp": ["b/y.h"], "b/y.cpp": ["a/z.h"]}), [])

    def test_length_and_paths(self):
        self.assertEqual(len(self.problems("src/base/a.h", "\n" * 501)), 1)
        self.assertEqual(self.problems("src/base/a.h", "\n" * 500), [])
        for head in ("int f() {", "int f(int a,\n      int b) {", "struct A : B {\n};\nint A::f() {"):
            body = "  a();\n" * (58 - head.count("\n") + 2 * head.count("};"))
            self.assertEqual(self.problems("src/base/a.cpp", f"{head}\n{body}}}\n"), [])
            self.assertEqual(len(self.problems("src/base/a.cpp", f"{head}\n{body}  b();\n}}\n")), 1)
        self.assertEqual(len(self.problems("docs/a.md", "see /home" + "/me/x\n")), 1)
        self.assertEqual(self.problems("docs/a.md", "see src/home/me and {tmp}/home/x\n"), [])


class LibrariesTest(unittest.TestCase):
    def test_a_library_that_breaks_every_promise(self):
        source = """#include <iostream>
            thread_local char storage[128] = {1};
            int exported() { return storage[0]; }
            __attribute__((constructor)) static void first() {}
            __attribute__((constructor)) static void second() {}"""
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "libsonde-worst.so"
            subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", library], text=True,
                           input=source, check=True)
            found = "\n".join(check_libraries.check(library))
        for part in ("needs libstdc++.so.6", "could be unloaded", "exports _Z8exportedv",
                     "of thread-local storage", "initialisers of its own"):
            self.assertIn(part, found)

    def test_global_names_of_a_version_script(self):
        script = "V1 {\n global:\n  a; b;\n  # c;\n  d;\n local:\n  *;\n};"
        self.assertEqual(check_libraries.global_names(script), {"a", "b", "d"})


class OptionalTest(unittest.TestCase):
    def test_an_optional_package_is_looked_for_in_one_place(self):
        def found(text):
            return check_arrows.check_file(Path("src/x/CMakeLists.txt"), text)
        self.assertEqual(found("find_package(fmt REQUIRED)\nfind_library(DW dw REQUIRED)\n"), [])
        for text in ("find_package(TBB QUIET)", "  find_path(A a.h\n PATHS /b)",
                     "check_include_file_cxx(a.h HAS_A)"):
            self.assertEqual(len(found(f"set(a 1)\n{text}\n")), 1, text)

    def test_an_object_is_reused_where_only_folders_differ(self):
        def key(build, *words):
            return reuse_object.key(["c++", f"-I{build}/generated", *words, "-c", "/a.cpp"], build)
        plain = key("/b/build", "-o", "x.o")
        self.assertEqual(plain, key("/o", "-I/o/hidden", "-MD", "-MT", "y.o", "-MF", "y.d", "-o",
                                    "y.o"))
        self.assertNotEqual(plain, key("/o", "-DSONDE_ZSTD", "-o", "x.o"))
        self.assertNotEqual(plain, key("/o", "-O0", "-o", "x.o"))


class SummariseTest(unittest.TestCase):
    def test_every_kind_of_result(self):
        tests = xml.fromstring("""<testsuite>
            <testcase name="a" status="run"><system-out>skip b: needs root
[  SKIPPED ] Store.Reads (0 ms)
</system-out></testcase>
            <testcase name="c" status="fail"><failure message=""/></testcase>
            <testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
            <testcase name="e" status="notrun"><skipped message="Unable to find it"/></testcase>
            </testsuite>""").iter("testcase")
        passed, failed, skipped = summarise.summarise(tests)
        self.assertEqual(passed, 1)
        self.assertEqual(failed, ["c", "e"])
        self.assertEqual(skipped, ["a: b: needs root", "a: Store.Reads", "d"])

    def test_what_was_not_built_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "junit.xml").write_text('<testsuite><testcase name="a" status="run"/>'
                                                 "</testsuite>")
            Path(folder, "left_out.txt").write_text("the tests of HSA alone (no lld-15)\n")
            tool = Path(summarise.__file__)
            said = subprocess.run([sys.executable, tool, "release", f"{folder}/junit.xml", "3"],
                                  capture_output=True, text=True, check=True).stdout
        self.assertEqual(said, "release      1 passed, 0 failed, 0 skipped, 3 s\n"
                               "    left out the tests of HSA alone (no lld-15)\n")


class DevTest(unittest.TestCase):
    """What a verb cannot use is refused before anything is installed or built."""

    def dev(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            touched = Path(folder, "touched")
            for tool in ("dpkg-query", "apt-get", "cmake", "ctest"):
                Path(folder, tool).write_text(f"#!/bin/sh\ntouch {touched}\nexit 1\n")
                Path(folder, tool).chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            done = subprocess.run([str(check_arrows.ROOT / "dev"), *arguments], text=True,
                                  capture_output=True, env={**os.environ, "PATH": path}, check=False)
            self.assertFalse(touched.exists(), arguments)
            return done

    def test_help_only_helps(self):
        for arguments in ((), ("help",), ("--help",), ("bench", "--help"), ("test", "-h")):
            done = self.dev(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
            self.assertIn("usage: ./dev VERB", done.stdout)

    def test_odd_arguments_are_refused(self):
        for arguments in (("nope",), ("bench", "nope"), ("bench", "["), ("bench", "top", "top"),
                          ("lint", "some"), ("fuzz", "long"), ("soak", "1", "a", "b"),
                          ("build", "x"), ("test", "agent")):
            done = self.dev(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("see ./dev help", done.stderr)
        self.assertIn(" export_bench ", self.dev("bench", "nope").stderr)

    def test_of_several_names_of_a_package_one_that_can_be_installed_is_taken(self):
        function = re.search(r"^known_names\(\) \{.*?^\}", (check_arrows.ROOT / "dev").read_text(), re.S | re.M)[0]
        with tempfile.TemporaryDirectory() as folder:
            apt = Path(folder, "apt-get")  # knows a package whose dependencies are missing
            apt.write_text('#!/bin/sh\ncase "$*" in *broken*|*absent*) exit 100;; esac\n')
            apt.chmod(0o755)
            done = subprocess.run(["bash", "-c", f"{function}\nknown_names 'absent|broken|there' alone 'broken|absent'"],
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, text=True,
                                  capture_output=True, check=True)
        self.assertEqual(done.stdout.split(), ["there", "alone", "broken"])


if __name__ == "__main__":
    unittest.main()
