"""The table of vector instructions, which integer_rows.py and float_rows.py fill from the definitions in AMD's guides
to the Vega and CDNA 2 instruction sets.

Each row: name, kinds of the destination and the sources, and a function of the sources as numbers, which rounds
floats itself. `keep` says that a 16-bit destination keeps its upper half; `into`, that the function gets the old
destination as its last argument; `near`, by how many units in the last place the result may be off."""
from fractions import Fraction

M16, M32 = 0xffff, (1 << 32) - 1
ROWS = []


def row(name, kinds, function, **more):
    ROWS.append((name, kinds.split()[0], kinds.split()[1:], function, more))


def rows(kinds, **functions):
    for name, function in functions.items():
        row(name, kinds, function)


def two(low, high):
    return low & M16 | (high & M16) << 16


def nearest(value):
    """The integer nearest to a fraction, ties to even."""
    return round(Fraction(value))
