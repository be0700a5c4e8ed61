#!/usr/bin/python3
"""Runs AMD's librocrand, as packaged by Debian, on the software GPU's machine-code engine, and compares every number
with generators written here from their published definitions.

    rocrand_test.py SOFTGPU PROGRAM

PROGRAM is softgpu/tests/hip/rocrand.hip. Exit status 77 where the library is missing."""
import array
import bisect
import collections
import math
import struct
import subprocess
import sys
import unittest

MASK = (1 << 32) - 1
XORWOW, MRG32K3A, MTGP32, PHILOX, SOBOL32 = 401, 402, 403, 404, 501
SEED = 12345


def made(kind, generator, count, seed=SEED, letter="I"):
    """The numbers of two calls, of `count` each."""
    done = subprocess.run([*COMMAND, str(generator), kind, str(count), str(seed)], capture_output=True,
                          timeout=500, check=False)
    if done.returncode == 77:
        print("skipped: no librocrand.so.1")
        sys.exit(77)
    if done.returncode != 0 or b"softgpu:" in done.stderr:
        raise AssertionError(f"exit status {done.returncode}: {done.stderr.decode()}")
    found = array.array(letter)
    found.frombytes(done.stdout)
    return found[:count], found[count:]


def as_float(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def in_turns(threads, count):
    """The numbers of `threads` generators that take turns; each is a function without arguments."""
    return [threads[i % len(threads)]() for i in range(count)]


def philox(first_block, count, seed=SEED):
    """Philox 4x32 with ten rounds (Salmon et al., 2011), by counter."""
    numbers = []
    for block in range(first_block, first_block + (count + 3) // 4):
        c, k = [block & MASK, block >> 32, 0, 0], [seed & MASK, seed >> 32]
        for _ in range(10):
            low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [high >> 32 ^ c[1] ^ k[0], high & MASK, low >> 32 ^ c[3] ^ k[1], low & MASK]
            k = [k[0] + 0x9E3779B9 & MASK, k[1] + 0xBB67AE85 & MASK]
        numbers += c
    return numbers[:count]


class Xorwow:
    """Marsaglia's xorwow (2003); each thread has a subsequence of 2^67 numbers."""
    THREADS = 131072

    def __init__(self, state, weyl):
        self.state, self.weyl = state, weyl

    def __call__(self):
        a, _, _, _, e = self.state
        t = a ^ a >> 2
        new = (e ^ e << 4) & MASK ^ (t ^ t << 1) & MASK
        self.state = self.state[1:] + [new]
        self.weyl = self.weyl + 362437 & MASK
        return self.weyl + new & MASK

    @staticmethod
    def next_state(state):
        one = Xorwow(state, 0)
        one()
        return one.state

    @classmethod
    def of_threads(cls, threads, seed=SEED):
        """The generator is linear over bits: squaring the matrix of a step 67 times jumps a subsequence."""
        pack = lambda words: sum(word << 32 * i for i, word in enumerate(words))
        unpack = lambda bits: [bits >> 32 * i & MASK for i in range(5)]
        matrix = [pack(cls.next_state(unpack(1 << i))) for i in range(160)]

        def times(vector):
            result = 0
            while vector:
                lowest = vector & -vector
                result ^= matrix[lowest.bit_length() - 1]
                vector ^= lowest
            return result

        for _ in range(67):
            matrix = [times(column) for column in matrix]
        tables = []  # a byte at a time
        for byte in range(20):
            table = [0]
            for bit in range(8):
                table += [row ^ matrix[8 * byte + bit] for row in table]
            tables.append(table)
        a, b = seed & MASK ^ 0x2C7F967F, seed >> 32 ^ 0xA03697CB
        a, b = 1228688033 * a & MASK, 2073658381 * b & MASK
        words = [123456789 + a & MASK, 362436069 ^ a, 521288629 + b & MASK, 88675123 ^ b,
                 5783321 + a & MASK]
        weyl, bits, made_ = 6615241 + b + a & MASK, pack(words), []
        for _ in range(threads):
            made_.append(cls(unpack(bits), weyl))
            jumped = 0
            for table, value in zip(tables, bits.to_bytes(20, "little")):
                jumped ^= table[value]
            bits = jumped
        return made_


class Mrg32k3a:
    """L'Ecuyer's MRG32k3a (1999); each thread has a subsequence of 2^76 numbers."""
    M1, M2 = 4294967087, 4294944443
    A1 = ((0, 1, 0), (0, 0, 1), (-810728, 1403580, 0))
    A2 = ((0, 1, 0), (0, 0, 1), (-1370589, 0, 527612))

    def __init__(self, first, second):
        self.first, self.second = first, second

    def __call__(self):
        self.first = self.times(self.A1, self.first, self.M1)
        self.second = self.times(self.A2, self.second, self.M2)
        difference = self.first[2] - self.second[2]
        if difference <= 0:
            difference += self.M1
        return int((difference - 1) * 1.000000048661607)  # from 0 to 2^32 - 1

    @staticmethod
    def times(matrix, vector, modulus):
        return [sum(a * b for a, b in zip(row, vector)) % modulus for row in matrix]

    @classmethod
    def power(cls, matrix, squarings, modulus):
        for _ in range(squarings):
            matrix = [cls.times(list(zip(*matrix)), row, modulus) for row in matrix]
        return matrix

    @classmethod
    def of_threads(cls, threads, seed=SEED):
        x, y = seed & MASK ^ 0x55555555, seed >> 32 ^ 0xAAAAAAAA
        first = [part * seed % cls.M1 for part in (x, y, x)]
        second = [part * seed % cls.M2 for part in (y, x, y)]
        jump1, jump2 = cls.power(cls.A1, 76, cls.M1), cls.power(cls.A2, 76, cls.M2)
        made_ = []
        for _ in range(threads):
            made_.append(cls(first, second))
            first, second = cls.times(jump1, first, cls.M1), cls.times(jump2, second, cls.M2)
        return made_


class Mtgp32:
    """Saito's Mersenne twister for GPUs (2010) with the period 2^11213 - 1: a block of 256 threads shares
    a state. The parameters of its 512 published sets are read from the library."""
    BLOCKS, THREADS, WORDS, RING = 512, 256, 351, 1024

    def __init__(self, parameters, seed):
        _, self.position, self.shift1, self.shift2, *tables, self.mask = struct.unpack("<53I", parameters)
        self.recursion, self.tempering = tables[:16], tables[16:32]
        hidden = self.recursion[4] ^ self.recursion[8] << 16 & MASK
        filling = hidden + (hidden >> 16) & MASK
        filling = filling + (filling >> 8) & 0xFF
        self.state = [filling * 0x01010101] * self.WORDS + [0] * (self.RING - self.WORDS)
        self.state[0], self.state[1] = seed & MASK, hidden
        for i in range(1, self.WORDS):
            before = self.state[i - 1]
            self.state[i] ^= 1812433253 * (before ^ before >> 30) + i & MASK
        self.offset = 0

    def __call__(self):
        at = lambda distance: self.state[self.offset + distance & self.RING - 1]
        x = at(0) & self.mask ^ at(1)
        x ^= x << self.shift1 & MASK
        y = x ^ at(self.position) >> self.shift2
        made_ = y ^ self.recursion[y & 15]
        self.state[self.offset + self.WORDS & self.RING - 1] = made_
        t = at(self.position - 1)
        t ^= t >> 16
        t ^= t >> 8
        self.offset += 1
        return made_ ^ self.tempering[t & 15]

    @classmethod
    def of_blocks(cls, blocks, seed=SEED):
        with open(library_path(), "rb") as library:
            data = library.read()
        # Sets of 236 bytes each, which begin with the exponent.
        sign, size = struct.pack("<I", 11213), 236
        first = data.find(sign)
        while any(data[first + n * size:first + n * size + 4] != sign for n in range(cls.BLOCKS)):
            first = data.index(sign, first + 1)
        return [cls(data[first + n * size:first + n * size + 212], seed + n + 1) for n in range(blocks)]


def library_path():
    for line in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout.splitlines():
        if "librocrand.so.1 " in line:
            return line.split()[-1]
    return "librocrand.so.1"


def poisson_by_inversion(words, mean):
    """The smallest number whose cumulative share of the distribution reaches the word's."""
    shares, below, count = [], 0.0, 0
    while below < 1 - 2**-40:
        below += math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
        shares.append(below)
        count += 1
    return [bisect.bisect_left(shares, 2**-32 + word * 2**-32) for word in words]


def sobol(first, count):
    """Sobol's first dimension (van der Corput's sequence) in the order of Gray's code."""
    numbers = []
    for i in range(first, first + count):
        gray = i ^ i >> 1
        numbers.append(int(f"{gray:032b}"[::-1], 2))
    return numbers


class Rocrand(unittest.TestCase):
    def test_philox(self):
        first, second = made("uint", PHILOX, 100_000)
        self.assertEqual(first.tolist(), philox(0, 100_000))
        self.assertEqual(second.tolist(), philox(25_000, 100_000))

    def test_xorwow(self):
        count = Xorwow.THREADS + 30_000  # some threads produce two
        first, _ = made("uint", XORWOW, count)
        self.assertEqual(first.tolist(), in_turns(Xorwow.of_threads(Xorwow.THREADS), count))

    def test_mrg32k3a(self):
        count = 20_000
        first, _ = made("uint", MRG32K3A, count)
        self.assertEqual(first.tolist(), [one() for one in Mrg32k3a.of_threads(count)])

    def test_sobol(self):
        first, second = made("uint", SOBOL32, 100_000)
        self.assertEqual(first.tolist(), sobol(0, 100_000))
        self.assertEqual(second.tolist(), sobol(100_000, 100_000))

    def test_mtgp32(self):
        threads, count = Mtgp32.THREADS, 20 * Mtgp32.THREADS
        first, _ = made("uint", MTGP32, count)
        self.assertEqual(first.tolist(), [block() for block in Mtgp32.of_blocks(20) for _ in range(threads)])

    def test_small_integers(self):
        """Smaller integers are parts of the generator's words, from the lowest bits on."""
        for kind in ("char", "short"):
            found, _ = made(kind, PHILOX, 10_000)
            self.assertEqual(found.tolist(), philox(0, 10_000))

    def test_poisson(self):
        """Quasi-random sequences are transformed by inversion, value by value; for the others, the distribution
        counts."""
        for mean in (0.5, 10.0, 150.0):
            found, _ = made(f"poisson:{mean}", SOBOL32, 20_000)
            # Not the first, whose quantile is 0: its value depends on where the library's table
            # begins.
            self.assertEqual(found.tolist()[1:], poisson_by_inversion(sobol(1, 19_999), mean))
        for generator in (XORWOW, MRG32K3A, MTGP32, PHILOX):
            mean, count = 6.0, 50_000
            found, _ = made(f"poisson:{mean}", generator, count)
            seen = collections.Counter(found)
            expected = [count * math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(16)]
            square = sum((seen[k] - expected[k]) ** 2 / expected[k] for k in range(16))
            self.assertLess(square, 45, generator)  # 16 degrees of freedom: one of 7000 is above

    def test_normal_double(self):
        words = philox(0, 40_000)
        found, _ = made("normal_double", PHILOX, 20_000, letter="d")
        expected = []
        for a, b, c, d in zip(*(words[n::4] for n in range(4))):
            x, y = (2**-53 + (low ^ high << 21) * 2**-53 for low, high in ((a, b), (c, d)))
            radius = math.sqrt(-2 * math.log(x))
            expected += [math.sin(2 * math.pi * y) * radius, math.cos(2 * math.pi * y) * radius]
        for got, want in zip(found, expected):
            self.assertAlmostEqual(got, -1 + 0.25 * want, delta=1e-12)

    def test_uniform(self):
        found, _ = made("uniform", PHILOX, 40_000, letter="f")
        self.assertEqual(found.tolist(), [as_float(as_float(word) * 2**-32 + 2**-32)
                                          for word in philox(0, 40_000)])
        found, _ = made("uniform_double", PHILOX, 20_000, letter="d")
        words = philox(0, 40_000)
        self.assertEqual(found.tolist(), [2**-53 + (low | high >> 11 << 32) * 2**-53
                                          for low, high in zip(words[::2], words[1::2])])

    def test_normal(self):
        """Box and Muller's transform, whose sine, cosine and logarithm hardware approximates."""
        words = philox(0, 20_000)
        expected = []
        for x, y in zip(words[::2], words[1::2]):
            radius = math.sqrt(-2 * math.log(2**-32 + x * 2**-32))
            angle = 2 * math.pi * (2**-32 + y * 2**-32)
            expected += [math.sin(angle) * radius, math.cos(angle) * radius]
        found, _ = made("normal", PHILOX, 20_000, letter="f")
        for got, want in zip(found, expected):
            self.assertAlmostEqual(got, 1 + 2 * want, delta=2e-5)
        found, _ = made("log_normal", PHILOX, 20_000, letter="f")
        for got, want in zip(found, expected):
            self.assertAlmostEqual(got, math.exp(0.5 * want), delta=2e-5 * math.exp(0.5 * want))


if __name__ == "__main__":
    COMMAND = [sys.argv[1], "--engine", "isa", "--", sys.argv[2]]
    unittest.main(argv=sys.argv[:1])
