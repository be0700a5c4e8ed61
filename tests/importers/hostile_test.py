#!/usr/bin/python3
"""What a trace should not hold, to every importer: names of every kind, invalid UTF-8, times beyond
2^53 ns, operations without length and overlapping ones, durations below 0, and files, compressed or
not, that break off. The good part must come back exactly, and the bad be counted. What each format
can express is in hostile_formats.py; a kind that is not there fails.

    hostile_test.py --sonde PATH [unittest options]"""
import gzip
import re

import import_case
from hostile_formats import FORMATS, encoded

NAMES = ['say "hi", twice', "x" * 10_000, "it's; a, b", "é漢🙂", "back\\slash", "tab\there", "line\nbreak"]
BAD, SHOWN = "bad \udcff byte", "bad � byte"  # a byte that is not UTF-8, and how it is shown
LATE = (1 << 53) + 12_345_000 - (1 << 53) % 1000  # whole microseconds
EACH = [(kind, form) for kind, forms in FORMATS.items() for form in forms]


def kernels(form):
    """(name, start, end): of no length, then overlapping more and more."""
    names = [name for name in NAMES + [BAD] if form.lines or "\n" not in name]
    return [(name, LATE + i * 10_000, LATE + i * 10_000 + i * 25_000) for i, name in enumerate(names)]


def shown(form, rows):
    return [(SHOWN if name == BAD else name, *form.times(i, start, end))
            for i, (name, start, end) in enumerate(rows)]


def many():
    return [(f"kernel {i * 7919 % 10_007}", LATE + i * 1000, LATE + i * 1000 + 7) for i in range(5000)]


class Hostile(import_case.ImportCase):
    def load(self, data, form, kind, skipped):
        folder = self.folder / kind
        folder.mkdir(exist_ok=True)
        (folder / form.file).write_bytes(data)
        self.load_file(folder / form.file, skipped=skipped)
        self.assertEqual(self.rows("SELECT value FROM sonde_note WHERE key = 'imported from'"),
                         [(str(folder / form.file),)])

    def test_every_kind_is_here(self):
        told = self.run_sonde("import", "--help").stdout
        kinds = told[told.index("The kinds of trace"):told.index("Arguments\n")]
        self.assertEqual(set(re.findall(r"^([a-z0-9-]+): ", kinds, re.M)) - {"rpd"}, set(FORMATS))

    def test_names_and_times(self):
        for kind, form in EACH:
            with self.subTest(form.file, kind=kind):
                rows = kernels(form)
                self.load(form.encode(rows), form, kind, skipped=0)
                self.assertEqual(self.rows(form.sql), shown(form, rows))

    def test_durations_below_zero(self):
        for kind, form in EACH:
            if not form.early:
                continue
            with self.subTest(form.file, kind=kind):
                rows = kernels(form)
                early = ("ends early", LATE + 500_000, LATE + 499_000)
                kept = [early] if form.early == "kept" else []  # as it is; zero long in all figures
                self.load(form.encode(rows + [early]), form, kind, skipped=1 - len(kept))
                self.assertRegex(self.said, "1 .*(end before they start|impossible duration)")
                self.assertEqual(self.rows(form.sql), shown(form, rows + kept))

    def test_files_that_break_off(self):
        """Compressed or not. Of a database nothing can be read then, which is one line."""
        rows = many()
        for kind, form in EACH:
            whole = form.encode(rows)
            packed = gzip.compress(whole)
            for file, data in ((form.file, whole), (form.file + ".gz", packed)):
                with self.subTest(file, kind=kind):
                    path = self.write(data[:len(data) * 3 // 4], file)
                    if form.whole:
                        self.refused(path)
                        continue
                    self.load_file(path, skipped=None)
                    if data is packed:
                        self.assertIn("the compressed file is cut off", self.said)
                    got = self.rows(form.sql)
                    self.assertGreater(len(got), 1000)
                    if form.tail:
                        got = got[:-1]
                    self.assertEqual(got, shown(form, rows)[:len(got)])
                    path.unlink()

    def refused(self, path):
        done = self.run_sonde("import", path, "-o", self.folder / "no.rpd", status=1)
        self.assertRegex(done.stderr, rf"\Asonde: {path}: [^\n]+\n\Z")
        self.assertFalse((self.folder / "no.rpd").exists())

    def test_compressed(self):
        for kind, form in EACH:
            with self.subTest(form.file, kind=kind):
                self.load_file(self.write(gzip.compress(form.encode(kernels(form))), form.file + ".gz"))
                self.assertEqual(self.rows(form.sql), shown(form, kernels(form)))

    def test_calls_of_a_log(self):
        """A return that stands before its call."""
        head = ":3:hip_api.cpp :1 : {} us: 7: [tid:0x8] "
        lines = [head.format(50) + "hipMalloc ( 0x1, 8 )", head.format(40) + "hipMalloc: Returned hipSuccess : ",
                 head.format(60) + "hipFree ( 0x1 )", head.format(70) + "hipFree: Returned hipSuccess : "]
        self.load_file(self.write(encoded("\n".join(lines) + "\n"), "hip.log"), skipped=None)
        self.assertRegex(self.said, "1 .*end before they start")
        self.assertEqual([row[2:] for row in self.apis()][-1], (60_000, 70_000, "hipFree"))


if __name__ == "__main__":
    import_case.main()
