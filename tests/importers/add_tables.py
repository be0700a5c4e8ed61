#!/usr/bin/python3
"""Adds rows to an .rpd, by plain SQL, in each of Sonde's tables that an import leaves empty: call
stacks, code objects and kernels, a graph's operations, further links, facts of devices, queues and
copies. The numbers follow from SEED, so that two files hold different ones.

    add_tables.py FILE SEED"""
import json
import random
import sqlite3
import sys


def stacks(database, rng, process):
    modules = [f"/usr/lib/lib{name}.so" for name in ("c", "torch", "own")]
    database.executemany("INSERT INTO sonde_module VALUES (?, ?, ?)",
                         [(i + 1, path, f"{rng.getrandbits(64):x}") for i, path in enumerate(modules)])
    frames = [(i, "native", rng.randint(1, 3), rng.randrange(1 << 40), f"function {rng.random()}",
               "a.cc", rng.randint(1, 99), None, None) for i in range(1, 31)]
    frames += [(i, "python", None, None, f"method {i}", "b.py", i, i % 2, None) for i in range(31, 40)]
    frames.append((40, "native", 1, None, "inlined", "a.h", 7, None, 3))
    database.executemany("INSERT INTO sonde_frame VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", frames)
    database.executemany("INSERT INTO sonde_stack VALUES (?, ?, ?)",
                         [(i, rng.randint(1, i - 1) if i > 5 else None, rng.randint(1, 40))
                          for i in range(1, 101)])
    database.executemany(
        "INSERT INTO sonde_sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(i, process, rng.randint(1, 4), rng.randrange(10**9), rng.randint(1, 100), rng.randrange(10**7),
          rng.randint(0, 3), rng.randrange(10**4), rng.choice((0, 1, 2)), i % 2) for i in range(1, 501)])
    calls = database.execute("SELECT id FROM rocpd_api ORDER BY id LIMIT 3").fetchall()
    database.executemany("INSERT INTO sonde_launch_stack VALUES (?, ?, ?)",
                         [(call, rng.randint(1, 100), i % 2) for i, (call,) in enumerate(calls)])


def code(database, rng, process):
    """As recorded: the notes, and the tables that follow from them."""
    for i in range(5):
        one = {"uri": f"file:///lib#{rng.random()}", "load_base": "0x7f00", "load_size": i, "delta": -i}
        database.execute("INSERT INTO sonde_note VALUES (?, 'hsa.code_object', ?)",
                         (process, json.dumps(one)))
        database.execute("INSERT INTO sonde_code_object VALUES (?, ?, ?, ?, ?)",
                         (process, *one.values()))
        kernel = {"gpu": i % 2, "name": f"k{rng.random()}", "object": "0x10", "vgprs": i,
                  "accumulation_vgprs": 1, "sgprs": 2, "group_segment_bytes": 3,
                  "private_segment_bytes": 4, "kernarg_bytes": 5}
        database.execute("INSERT INTO sonde_note VALUES (?, 'hsa.kernel', ?)",
                         (process, json.dumps(kernel)))
        database.execute("INSERT INTO sonde_kernel_code VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                         (process, *kernel.values()))


def graph(database, rng):
    """One launch of a graph of two operations, one of which has a second call."""
    handle = f"0x{rng.getrandbits(40):x}"
    args = database.execute("INSERT INTO rocpd_ustring (string) VALUES (?)",
                            (f"graphExec = {handle} | stream = 0x1",)).lastrowid
    name = database.execute("INSERT INTO rocpd_string (string) VALUES ('hipGraphLaunch')").lastrowid
    api, other = [row for row, in database.execute("SELECT id FROM rocpd_api ORDER BY id LIMIT 2")]
    first, second = [row for row, in database.execute("SELECT id FROM rocpd_op ORDER BY start, id LIMIT 2")]
    database.execute("UPDATE rocpd_api SET apiName_id = ?, args_id = ? WHERE id = ?", (name, args, api))
    database.execute("DELETE FROM rocpd_api_ops")
    database.executemany("INSERT INTO rocpd_api_ops (api_id, op_id) VALUES (?, ?)",
                         [(api, first), (api, second), (other, second)])
    database.execute("""UPDATE sonde_op_detail SET api_id =
                        (SELECT min(api_id) FROM rocpd_api_ops l WHERE l.op_id = sonde_op_detail.op_id)""")
    database.executemany("INSERT INTO sonde_graph_op VALUES (?, ?, ?, ?)",
                         [(first, api, handle, 0), (second, api, handle, 1)])
    database.execute("DELETE FROM rocpd_copyapi")
    database.execute("INSERT INTO rocpd_copyapi VALUES (?, '0x2', 64, 8, 8, 2, '0xd', '0xs', 1, 0, 1, 1)",
                     (other,))


def main():
    database = sqlite3.connect(sys.argv[1])
    rng = random.Random(int(sys.argv[2]))
    process, = database.execute("SELECT id FROM sonde_process ORDER BY id").fetchone()
    with database:
        stacks(database, rng, process)
        code(database, rng, process)
        graph(database, rng)
        database.execute("UPDATE sonde_process SET directory = '/opt/x', exit = 'exit 3', host = 'h'")
        database.execute("""INSERT INTO sonde_device (process_id, gpu_id, backend, driver, clock_mhz)
                            VALUES (?, 1, 'hip', '5.2', 1700)""", (process,))
        database.execute("INSERT INTO sonde_queue VALUES (99, ?, 7, 1, 8, 9, 1, 0)", (process,))
        database.execute("INSERT INTO sonde_clock_snapshot VALUES (99, ?, 'tsc', 5, 600, 70)", (process,))


if __name__ == "__main__":
    main()
