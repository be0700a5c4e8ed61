"""Compares a trimmed trace with SQL on the whole one: trim_check.py WHOLE TRIMMED START_NS END_NS.

Times are relative to the first event. Rows are compared as the views show them, so names and arguments
are, too; no reference may lead nowhere that did not before.
"""

import gzip
import sqlite3
import sys
import tempfile


def opened(path):
    if not path.endswith(".gz"):
        return sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with tempfile.NamedTemporaryFile() as file:
        file.write(gzip.open(path).read())
        file.flush()
        database = sqlite3.connect(":memory:")
        sqlite3.connect(file.name).backup(database)
        return database


def rows(database, sql):
    return sorted(database.execute(sql).fetchall(), key=repr)


def tables(database):
    return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' "
                                                 "AND name NOT LIKE 'sqlite%'")}


def main(whole_path, trimmed_path, start, end):
    whole, trimmed = opened(whole_path), opened(trimmed_path)
    first = whole.execute("SELECT min(t) FROM (SELECT min(start) t FROM rocpd_api UNION ALL "
                          "SELECT min(start) FROM rocpd_op)").fetchone()[0]
    low, high = first + int(start), first + int(end)
    inside = f"""("end" > {low} OR (start = "end" AND start >= {low})) AND start < {high}"""
    api, op = (f"(SELECT id FROM rocpd_{table} WHERE {inside})" for table in ("api", "op"))
    counts = []

    def same(what, of_whole, of_trimmed=None):
        expected, found = rows(whole, of_whole), rows(trimmed, of_trimmed or of_whole)
        if expected != found:
            sys.exit(f"{what}: {len(expected)} rows expected, {len(found)} found; first difference "
                     f"{next(iter(set(expected) ^ set(found)), None)}")
        counts.append(f"{len(found)} {what}")

    if tables(whole) - tables(trimmed) - {"sqlite_sequence"}:
        sys.exit(f"tables are missing: {tables(whole) - tables(trimmed)}")
    same("calls", f"SELECT * FROM api WHERE {inside}", "SELECT * FROM api")
    same("operations", f"SELECT * FROM op WHERE {inside}", "SELECT * FROM op")
    same("links", f"SELECT * FROM rocpd_api_ops WHERE api_id IN {api} AND op_id IN {op}",
         "SELECT * FROM rocpd_api_ops")
    for table, column, kept in (("rocpd_kernelapi", "api_ptr_id", api), ("rocpd_copyapi", "api_ptr_id", api),
                                ("rocpd_stackframe", "api_ptr_id", api), ("rocpd_counter", "op_id", op),
                                ("rocpd_kernelop", "op_ptr_id", op), ("rocpd_copyop", "op_ptr_id", op),
                                ("sonde_op_args", "op_id", op), ("sonde_launch_stack", "api_id", api)):
        if table in tables(whole):
            same(table, f"SELECT * FROM {table} WHERE {column} IN {kept}", f"SELECT * FROM {table}")
    for table in ("sonde_sample", "sonde_counter", "sonde_flow", "sonde_blocked"):
        if table in tables(whole):
            same(table, f"SELECT * FROM {table} WHERE time_ns >= {low} AND time_ns < {high}",
                 f"SELECT * FROM {table}")
    if "sonde_process" in tables(whole):
        overlaps = f"start_ns < {high} AND ifnull(end_ns, {high}) > {low}"
        same("sonde_process",
             f"SELECT id, pid, iif({overlaps}, max(start_ns, {low}), start_ns), "
             f"iif({overlaps}, min(end_ns, {high}), end_ns) FROM sonde_process",
             "SELECT id, pid, start_ns, end_ns FROM sonde_process")
        others = "SELECT ppid, command, rank, exit FROM sonde_process"
        same("sonde_process", others, others)
    for table in ("sonde_thread", "sonde_device", "sonde_queue", "sonde_drop", "sonde_note",
                  "sonde_clock_snapshot"):
        if table in tables(whole):
            same(table, f"SELECT * FROM {table}")
    if "sonde_op_detail" in tables(whole):
        same("sonde_op_detail", f"SELECT op_id, bytes, (SELECT id FROM rocpd_api a WHERE a.id = api_id AND "
             f"{inside}) FROM sonde_op_detail WHERE op_id IN {op}",
             "SELECT op_id, bytes, api_id FROM sonde_op_detail")
    if "sonde_stack" in tables(whole):
        stack = """WITH RECURSIVE up(sample, stack, depth) AS (
            SELECT id, stack_id, 0 FROM sonde_sample {where}
            UNION ALL SELECT sample, parent_id, depth + 1 FROM up JOIN sonde_stack s ON s.id = stack
            WHERE parent_id IS NOT NULL)
            SELECT sample, depth, f.kind, f.function, f.address, m.path FROM up JOIN sonde_stack s ON s.id = stack
            JOIN sonde_frame f ON f.id = s.frame_id LEFT JOIN sonde_module m ON m.id = f.module_id"""
        same("frames of samples", stack.format(where=f"WHERE time_ns >= {low} AND time_ns < {high}"),
             stack.format(where=""))
    broken = set(trimmed.execute("PRAGMA foreign_key_check")) - set(whole.execute("PRAGMA foreign_key_check"))
    if broken:
        sys.exit(f"references lead nowhere: {list(broken)[:5]}")
    if trimmed.execute("PRAGMA integrity_check").fetchone() != ("ok",):
        sys.exit("the file is damaged")
    if "rocpd_ustring" in tables(trimmed):
        unused = trimmed.execute("SELECT count(*) FROM rocpd_ustring WHERE id > 1 AND id NOT IN "
                                 "(SELECT args_id FROM rocpd_api)").fetchone()[0]
        counts.append(f"{unused} unused arguments")
    print(", ".join(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
