#!/usr/bin/python3
"""Tests of the table that `./dev bench` prints."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import run  # noqa: E402


class TableTest(unittest.TestCase):
    def rows(self, *outputs):
        rows = {}
        for output in outputs:
            self.assertEqual(run.collect(output, rows), "")
        return rows

    def test_medians_over_runs(self):
        line = '{"name": "a", "value": %s, "unit": "ns", "goal": 5}\n'
        rows = self.rows(line % 9, line % 1, line % 2)
        self.assertEqual(rows["a"].median, 2)
        self.assertFalse(rows["a"].missed())

    def test_goals_in_both_directions(self):
        rows = self.rows('{"name": "a", "value": 6, "unit": "ns", "goal": 5}\n'
                         '{"name": "b", "value": 6, "unit": "/s", "goal": 5, "better": "higher"}\n'
                         '{"name": "c", "value": 4, "unit": "/s", "goal": 5, "better": "higher"}\n')
        self.assertEqual([row.missed() for row in rows.values()], [True, False, True])
        self.assertEqual(run.table(list(rows.values())).count("missed"), 2)

    def test_ratio(self):
        rows = self.rows('{"name": "a", "value": 6, "unit": "ns", "versus": "b"}\n'
                         '{"name": "b", "value": 4, "unit": "ns"}\n')
        self.assertIn("1.50 x b", run.table(list(rows.values())))

    def test_comparison_of_builds(self):
        rows = self.rows('{"name": "a", "value": 6, "unit": "ns"}\n'
                         '{"name": "new", "value": 1, "unit": "ns"}\n')
        others = self.rows('{"name": "a", "value": 5, "unit": "ns"}\n')
        lines = run.comparison(rows, others).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("+20.0 %", lines[1])

    def test_wrong_output(self):
        for output in ("", "no measurement\n", "{broken\n", '{"name": "a", "value": 1}\n',
                       '{"name": "a", "value": 1, "unit": "ns", "gaol": 1}\n',
                       '{"name": "a", "value": 1, "unit": "ns", "better": "bigger"}\n'):
            self.assertNotEqual(run.collect(output, {}), "", output)


if __name__ == "__main__":
    unittest.main()
