"""What the tests of importers share: a file is written, imported by the real tool, and its rows are
asked for with Python's sqlite3."""
import pathlib
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from tool_case import ToolCase, main  # noqa: E402


class ImportCase(ToolCase):
    def load_file(self, path, skipped=0, options=()):
        """Imports it; self.said is what the tool printed, and `skipped` what it must have skipped (None:
        anything)."""
        out = self.folder / "out.rpd"
        out.unlink(missing_ok=True)
        done = self.run_sonde("import", *options, path, "-o", out)
        self.said = done.stdout + done.stderr
        if skipped is not None:
            self.assertIn(f"; {skipped} skipped" if skipped else "nothing skipped", done.stdout,
                          self.said)
        self.database = sqlite3.connect(f"file:{out}?mode=ro", uri=True)
        self.addCleanup(self.database.close)

    def write(self, data, name):
        """A file of the test's own."""
        path = self.folder / name
        path.write_bytes(data)
        return path

    def load(self, data, name="trace", **more):
        self.load_file(self.write(data, name), **more)

    def rows(self, sql):
        return self.database.execute(sql).fetchall()

    def apis(self, more=""):
        return self.rows(f"SELECT pid, tid, start, end, apiName {more} FROM api ORDER BY start, id")

    def ops(self):
        return self.rows("SELECT gpuId, queueId, start, end, description, opType FROM op ORDER BY start, id")

    def links(self):
        return self.rows("""SELECT a.start, o.start FROM rocpd_api_ops l
            JOIN rocpd_api a ON a.id = l.api_id JOIN rocpd_op o ON o.id = l.op_id ORDER BY 2""")
