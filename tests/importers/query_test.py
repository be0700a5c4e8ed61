#!/usr/bin/python3
"""`sonde query` prints rows as they come: the same as plain SQLite in every format, in memory that does
not grow with the result, and takes its two arguments either way round.

    query_test.py --sonde PATH [unittest options]"""
import csv
import io
import json
import os
import sqlite3
import subprocess

import import_case
from rpd_fixture import Fixture

MANY = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
        "SELECT i, i * 0.5 AS half, 'row ' || i AS name, NULL AS empty FROM n")


class Query(import_case.ImportCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "in.rpd"
        fixture = Fixture(self.path)
        for i in range(2500):
            fixture.op(1000 + i, 1001 + i, f"kernel {i}")
        fixture.close()

    def query(self, *arguments, status=0):
        done = self.run_sonde("query", *arguments, status=status)
        return done.stdout if status == 0 else done.stderr

    def test_every_format_has_every_row_of_every_part(self):
        """A part is 1000 rows: less, just as many, and more than one."""
        for count in (0, 1, 999, 1000, 1001, 2000, 2500):
            sql = f"SELECT * FROM ({MANY.format(2500)}) LIMIT {count}"
            want = sqlite3.connect(":memory:").execute(sql).fetchall()
            rows = json.loads(self.query("in.rpd", sql, "--format", "json"))["rows"]
            self.assertEqual([tuple(row.values()) for row in rows], want, count)
            rows = list(csv.reader(io.StringIO(self.query("in.rpd", sql, "--format", "csv"))))
            self.assertEqual(rows[0], ["i", "half", "name", "empty"])
            self.assertEqual([(int(a), float(b), c, d or None) for a, b, c, d in rows[1:]], want)
            lines = self.query("in.rpd", sql, "--format", "text").splitlines()
            self.assertEqual(len(lines), count + 1)
            for line, row in zip(lines[1:], want):
                self.assertEqual([cell.strip() for cell in line.split("  ") if cell.strip()],
                                 [str(row[0]), f"{row[1]:.15g}", row[2], "-"])
            page = self.query("in.rpd", sql, "--format", "markdown")
            self.assertEqual(page.count("| row "), count)
            page = self.query("in.rpd", sql, "--format", "html")
            self.assertEqual((page.count(">row "), page.count("<table>"), page.count("</html>")),
                             (count, 1, 1))

    def test_limit_counts_what_it_leaves_out(self):
        sql = MANY.format(2500)
        told = json.loads(self.query("in.rpd", sql, "--format", "json", "--limit", "1200"))
        self.assertEqual((len(told["rows"]), told["rows_rows_left_out"]), (1200, 1300))
        self.assertIn("... 2,490 more rows", self.query("in.rpd", sql, "--limit", "10"))

    def test_memory_does_not_grow_with_the_result(self):
        def largest(count):
            child = subprocess.Popen([self.sonde, "query", self.path, MANY.format(count),
                                      "--format", "csv"], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = 0
            self.assertEqual(status, 0)
            return usage.ru_maxrss  # KiB
        few = largest(2000)
        self.assertLess(largest(600_000), few + 4096)

    def test_either_way_round(self):
        sql = "SELECT count(*) AS n FROM v_op"
        for words in (("in.rpd", sql), (sql, "in.rpd"), (sql, "--format", "csv", "in.rpd")):
            self.assertIn("2500", self.query(*words))
        # A file whose name looks like SQL is a file.
        (self.folder / "select 1.rpd").write_bytes(self.path.read_bytes())
        self.assertIn("2500", self.query("select 1.rpd", sql))
        self.assertIn("2500", self.query(sql, "select 1.rpd"))

    def test_errors_name_the_file(self):
        for words in (("no.rpd", "SELECT 1"), ("SELECT 1", "no.rpd")):
            self.assertIn("no.rpd", self.query(*words, status=1))
        self.assertIn("no SQL given", self.query("in.rpd", status=2))
        self.assertIn("syntax error", self.query("in.rpd", "SELEKT 1", status=1))


if __name__ == "__main__":
    import_case.main()
