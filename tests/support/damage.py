#!/usr/bin/env python3
"""Makes bad input files, the same ones for the same seed.

    damage.py DIR [SEED]      damages about half of the chunk files of a session directory
"""

import gzip
import os
import random
import sqlite3
import struct
import sys

CHUNK_BYTES = 256 * 1024
HEADER_BYTES = 16 * 1024
COMMITTED = 112  # offset of the 8 bytes in a chunk's header that count its payload


def flip(data, rng, count, begin=0):
    data = bytearray(data)
    for _ in range(count):
        data[rng.randrange(begin, len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def damage_chunk(data, rng):
    kind = rng.choice(["short", "empty", "header", "payload", "noise", "huge", "zeros"])
    if kind == "short":
        return kind, data[:rng.randrange(1, len(data))]
    if kind == "empty":
        return kind, b""
    if kind == "header":
        return kind, flip(data[:512], rng, 20) + data[512:]
    if kind == "payload":
        used = struct.unpack_from("<Q", data, COMMITTED)[0]
        end = HEADER_BYTES + max(64, min(used, len(data) - HEADER_BYTES))
        return kind, data[:HEADER_BYTES] + flip(data[HEADER_BYTES:end], rng, 50) + data[end:]
    if kind == "noise":
        return kind, rng.randbytes(len(data))
    if kind == "huge":
        count = struct.pack("<Q", rng.choice([1 << 63, (1 << 64) - 1, len(data) + 8]))
        return kind, data[:COMMITTED] + count + data[COMMITTED + 8:]
    return kind, bytes(len(data))


def damage_session(folder, seed):
    rng = random.Random(seed)
    chunks = sorted(os.path.join(root, name) for root, _, names in os.walk(folder)
                    for name in names if name.startswith("r"))
    chosen = [path for path in chunks if rng.random() < 0.5] or chunks[-1:]
    for path in chosen:
        with open(path, "rb") as file:
            data = file.read()
        if len(data) < CHUNK_BYTES:
            continue  # its process was killed while it made it
        kind, data = damage_chunk(data, rng)
        with open(path, "wb") as file:
            file.write(data)
        print(f"damaged {path}: {kind}")


def other_database():
    """A valid one of another program."""
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE songs(title)")
        return database.serialize()


def variants(good, flips):
    """Name and content of bad .rpd files; those called "maybe" may also be read, if correctly."""
    rng = random.Random(1)
    page = struct.unpack_from(">H", good, 16)[0]
    yield "empty", b""
    yield "one-byte", b"S"
    yield "text", b"this is no trace\n" * 1000
    yield "zeros", bytes(100000)
    yield "noise", rng.randbytes(100000)
    yield "noise-after-magic", good[:16] + rng.randbytes(5000)
    yield "other-database", other_database()
    yield "header-only", good[:100]
    yield "no-schema", good[:16] + bytes(page - 16)
    yield "truncated-page", good[:page + page // 2]
    yield "truncated-half", good[:len(good) // 2 // page * page]
    yield "gzip-noise", b"\x1f\x8b\x08\x00" + rng.randbytes(5000)
    yield "gzip-of-noise", gzip.compress(rng.randbytes(1000))
    yield "gzip-header-only", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    yield "gzip-cut", gzip.compress(good)[:-100]
    yield "json", b'{"colour": "red"}'
    yield "huge-page-count", good[:28] + struct.pack(">I", 0xFFFFFFFF) + good[32:]
    yield "huge-page-size", good[:16] + b"\xff\xff" + good[18:]
    yield "huge-cell-count", good[:103] + b"\xff\xff" + good[105:]
    yield "schema-zeroed", good[:100] + bytes(page - 100) + good[page:]
    yield "maybe-last-byte-missing", good[:-1]
    for i in range(flips):
        yield f"maybe-flipped-{i}", flip(good, rng, 1 + 240 * i // flips, begin=16)
    for i in range(flips // 2):
        start = rng.randrange(1, len(good) // page) * page
        yield f"maybe-page-noise-{i}", good[:start] + rng.randbytes(page) + good[start + page:]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    damage_session(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
