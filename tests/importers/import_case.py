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

    def load(self, data, name="trace", **more):
        path = self.folder / name
        path.write_bytes(data)
        self.load_file(path, **more)

    def rows(self, sql):
        return self.database.execute(sql).fetchall()

    def apis(self, more=""):
        return self.rows("SELECT a.pid, a.tid, a.start, a.end, n.string " + more + """
            FROM rocpd_api a JOIN rocpd_string n ON n.id = a.apiName_id
            JOIN rocpd_string c ON c.id = a.category_id JOIN rocpd_ustring u ON u.id = a.args_id
            LEFT JOIN rocpd_string d ON d.id = a.domain_id ORDER BY a.start, a.id""")

    def ops(self):
        return self.rows("""SELECT o.gpuId, o.queueId, o.start, o.end, n.string, t.string
            FROM rocpd_op o JOIN rocpd_string n ON n.id = o.description_id
            JOIN rocpd_string t ON t.id = o.opType_id ORDER BY o.start, o.id""")

    def links(self):
        return self.rows("""SELECT a.start, o.start FROM rocpd_api_ops l
            JOIN rocpd_api a ON a.id = l.api_id JOIN rocpd_op o ON o.id = l.op_id ORDER BY 2""")
