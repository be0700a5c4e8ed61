"""What tests of the built tool share: its path from the command line, and a folder for each test."""
import gzip
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("SONDE_SHARED", ROOT.parent / "shared"))
REAL = SHARED / "data" / "rpd" / "mytrace.rpd.gz"


def take_sonde():
    """The PATH of `--sonde PATH`, which is no longer among the arguments then."""
    if "--sonde" not in sys.argv:
        sys.exit(f"usage: {sys.argv[0]} --sonde PATH [unittest options]")
    at = sys.argv.index("--sonde")
    _, path = sys.argv[at:at + 2]
    del sys.argv[at:at + 2]
    return os.path.abspath(path)


class ToolCase(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sonde_test.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def real(self):
        if not REAL.exists():
            self.skipTest(f"no {REAL}")
        plain = self.folder / "real.rpd"
        plain.write_bytes(gzip.decompress(REAL.read_bytes()))
        return plain

    def both(self):
        """The test's own file, and a real one where there is one."""
        yield self.fixture()
        if REAL.exists():
            yield self.real()
