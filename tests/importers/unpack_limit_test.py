#!/usr/bin/python3
"""A small file that unpacks to a huge one is refused, whatever it is packed with, soon and without the
memory; SONDE_UNPACK_LIMIT=off lets it through.

    unpack_limit_test.py --sonde PATH [unittest options]"""
import os
import resource
import shutil
import struct
import subprocess
import zlib

import import_case
from protobuf import message

GIB = 1 << 30
GZIP, ZLIB = "gzip", "zlib"
# A megabyte of small events, as a reader gives up on one of 256 MiB by itself.
FILLING = (b'{"x": "' + b"-" * (4096 - 11) + b'"},\n') * 256
HEAD = b'{"schemaVersion": 1, "traceEvents": ['
TAIL = (b'{"ph": "X", "cat": "cpu_op", "name": "last", "pid": 1, "tid": 1, "ts": 1, "dur": 1, '
        b'"args": {}}]}')


def packed(head, size, tail=b"", kind=GZIP):
    """`head`, FILLING again and again, and `tail`, compressed about 1000 to 1. FILLING is compressed
    once, and what comes of it repeated: after a full flush nothing refers to what is before."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    count = size // len(FILLING)
    begin = engine.compress(head) + engine.flush(zlib.Z_FULL_FLUSH)
    block = engine.compress(FILLING) + engine.flush(zlib.Z_FULL_FLUSH)
    end = engine.compress(tail) + engine.flush()
    check = zlib.crc32 if kind == GZIP else zlib.adler32
    value = check(head)
    for _ in range(count):
        value = check(FILLING, value)
    value = check(tail, value)
    whole = len(head) + count * len(FILLING) + len(tail)
    data = begin + block * count + end
    if kind == ZLIB:
        return b"\x78\xda" + data + struct.pack(">I", value)
    return (b"\x1f\x8b\x08" + bytes(6) + b"\xff" + data +
            struct.pack("<II", value, whole % (1 << 32)))


class UnpackLimit(import_case.ImportCase):
    def top(self, path, memory=512 << 20, **variables):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (memory + GIB, memory + GIB))
        return self.run_sonde("top", path, status=None, preexec_fn=limit, env={**os.environ, **variables}, timeout=300)

    def refused(self, path):
        done = self.top(path)
        self.assertEqual(done.returncode, 1, done.stdout[:200] + done.stderr[:200])
        self.assertIn("unpacks to more than 1 GiB and 200 times its size", done.stderr)
        self.assertIn("SONDE_UNPACK_LIMIT=off", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_gzip(self):
        path = self.write(packed(HEAD, GIB + (64 << 20), TAIL), "bomb.json.gz")
        self.assertLess(path.stat().st_size, 2 << 20)
        self.refused(path)

    def test_zstd(self):
        if not shutil.which("zstd"):
            self.skipTest("no zstd")
        path = self.folder / "bomb.json.zst"
        with open(path, "wb") as out:
            pack = subprocess.Popen(["zstd", "-q", "-c"], stdin=subprocess.PIPE, stdout=out)
            pack.stdin.write(HEAD)
            for _ in range((GIB >> 20) + 64):
                pack.stdin.write(FILLING)
            pack.stdin.write(TAIL)
            pack.stdin.close()
            self.assertEqual(pack.wait(), 0)
        done = self.top(path)
        if "which this build cannot unpack" in done.stderr:
            self.skipTest("this build has no zstd")
        self.refused(path)

    def test_rpd(self):
        self.refused(self.write(packed(b"SQLite format 3\0" + bytes(84), GIB + (64 << 20)), "bomb.rpd.gz"))

    def test_packets_of_perfetto(self):
        """Each of them is small enough."""
        block = packed(b"", 128 << 20, kind=ZLIB)
        packet = message((1, message((50, block))))
        path = self.write(message((1, [(10, 1)])) + packet * 9, "bomb.pftrace")
        done = self.top(path, memory=1 << 30)
        self.assertEqual(done.returncode, 1, done.stderr[:200])
        self.assertIn("unpacks to more than 1 GiB and 200 times its size", done.stderr)

    def test_what_is_large_or_dense_alone_passes(self):
        """A tenth of a gigabyte, a thousand times its packed size."""
        path = self.write(packed(HEAD, 100 << 20, TAIL), "dense.json.gz")
        done = self.top(path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_switch(self):
        path = self.write(packed(HEAD, GIB + (64 << 20), TAIL), "bomb.json.gz")
        done = self.top(path, memory=4 << 30, SONDE_UNPACK_LIMIT="off")
        self.assertNotIn("unpacks to more than", done.stderr)


if __name__ == "__main__":
    import_case.main()
