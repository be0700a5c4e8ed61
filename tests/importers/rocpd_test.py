#!/usr/bin/python3
"""Imports of rocpd databases, written here from their schema.

    rocpd_test.py --sonde PATH [unittest options]"""
import contextlib
import resource
import sqlite3

import import_case
from hostile_formats import ROCPD
from tool_case import sql

G = "_0a1b"
SAMPLES = 100_000
CPU_SECONDS = 20  # reading the values once takes less than one, reading them for each sample minutes


class Rocpd(import_case.ImportCase):
    def database(self):
        made = sqlite3.connect(self.folder / "t.db")
        made.executescript(ROCPD)
        return contextlib.closing(made)

    def test_samples_with_values_are_counters_and_others_are_calls(self):
        with self.database() as made:
            made.executescript(f"""
                INSERT INTO rocpd_string{G} VALUES (1, 'HIP_RUNTIME_API'), (2, 'tick');
                INSERT INTO rocpd_info_thread{G} VALUES (1, 7, 8, 'main');
                INSERT INTO rocpd_track{G} VALUES (1, 7, 1, 2);
                INSERT INTO rocpd_info_pmc{G} VALUES (1, 'power');
                INSERT INTO rocpd_pmc_event{G} VALUES (0, NULL, 1, 0);""")
            numbers = range(1, SAMPLES + 2)  # the last one has no value
            made.executemany(f"INSERT INTO rocpd_event{G} VALUES (?, 1, 0, '{{}}')", [(n,) for n in numbers])
            made.executemany(f"INSERT INTO rocpd_sample{G} VALUES (?, 1, ?, ?)",
                             [(n, 1000 + n, n) for n in numbers] + [(SAMPLES + 2, 500, None)])
            made.executemany(f"INSERT INTO rocpd_pmc_event{G} VALUES (?, ?, 1, ?)",
                             [(n, n, n / 2) for n in numbers[:-1]])
            made.commit()
        out = self.folder / "out.rpd"
        self.run_sonde("import", self.folder / "t.db", "-o", out, timeout=600,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)))
        self.assertEqual(sql(out, "SELECT start, tid, apiName FROM api ORDER BY start"),
                         [(500, 8, "tick"), (1000 + SAMPLES + 1, 8, "tick")])
        self.assertEqual(sql(out, "SELECT count(*), sum(value) FROM sonde_counter"),
                         [(SAMPLES, SAMPLES * (SAMPLES + 1) / 4)])

    def test_machines_have_processes_and_gpus_of_their_own(self):
        """Two recordings of one machine, and one of another on which the pid and the GPU are the same."""
        with self.database() as made:
            for guid, host, start in (("_0a1b", "a", 1000), ("_2c3d", "b", 2000), ("_4e5f", "a", 3000)):
                if guid != G:
                    made.executescript(ROCPD.replace(G, guid))
                made.executescript(f"""
                    INSERT INTO rocpd_info_node{guid} VALUES (1, '{host}');
                    UPDATE rocpd_info_process{guid} SET nid = 1;
                    INSERT INTO rocpd_kernel_dispatch{guid} (pid, agent_id, queue_id, start, "end")
                      VALUES (7, 1, 3, {start}, {start} + 10);
                    INSERT INTO rocpd_region{guid} (pid, tid, start, "end") VALUES (7, 8, {start}, {start} + 5);""")
        # --as: of three recordings of so few words, the first pages hold none.
        self.load_file(self.folder / "t.db", options=("--as", "rocpd"))
        self.assertIn("recordings of several machines", self.said)
        self.assertEqual([(gpu, start) for gpu, _, start, *_ in self.ops()], [(0, 1000), (1000, 2000), (0, 3000)])
        self.assertEqual([(pid, start) for pid, _, start, *_ in self.apis()],
                         [(7, 1000), (10_000_007, 2000), (7, 3000)])
        self.assertEqual(self.rows("SELECT pid, host FROM sonde_process ORDER BY pid"), [(7, "a"), (10_000_007, "b")])
        self.assertEqual(self.rows("SELECT DISTINCT gpu_id FROM sonde_device ORDER BY 1"), [(0,), (1000,)])


if __name__ == "__main__":
    import_case.main()
