#!/usr/bin/python3
"""Makes src/gpu/opcodes.inc: the opcodes of gfx906, gfx908 and gfx90a with their operands.

    tools/gpu_opcodes.py [--llvm-mc llvm-mc-15] > src/gpu/opcodes.inc

LLVM's disassembler is asked about every value of every format's opcode field, with a register number of its
own in each operand field, so that the text tells which field an operand is read from, how many registers it
has, and whether it may be a scalar. It is run once for each architecture; the tool itself needs no LLVM."""
import argparse
import re
import subprocess
import sys

ARCHITECTURES = ["gfx906", "gfx908", "gfx90a"]
VDST, SRC0, SRC1, SRC2 = 16, 32, 48, 64  # even, and far enough apart for 32 registers... of products
FIELD_OF = {VDST: "Vdst", SRC0: "Src0", SRC1: "Src1", SRC2: "Src2", 0: "Sdst"}
LITERAL = 0x12345678
INVALID = ("Invalid", "warning", "<")


def vop3(op, base, scalar):
    """With three sources, two, one and none: fields that an opcode does not use must be zero."""
    vector = 0 if scalar else 256
    fields = [(SRC0 + vector) << 32, (SRC1 + vector) << 41, (SRC2 + vector) << 50]
    words = [base | op << 16 | VDST | sum(fields[:count]) for count in (3, 2, 1, 0)]
    return words + [words[3] - VDST]


def ds(op):
    """With all fields, with ever fewer, and with none; then as an instruction of the global data share."""
    fields = [VDST << 56, SRC0 << 32, SRC1 << 40, SRC2 << 48]
    chosen = sorted(range(16), key=lambda bits: -bits.bit_count())
    made = [0xd8 << 24 | op << 17 | 0x0201 | sum(field for i, field in enumerate(fields) if bits >> i & 1)
            for bits in chosen] + [0xd8 << 24 | op << 17]
    return made + [word | 1 << 16 for word in made]


# Format: opcodes, and groups of words for an opcode: the first of a group that can be disassembled counts, and
# there are several groups where what an operand may be has to be tried. The fields are those of AMD's "Vega"
# and "CDNA 2" instruction set manuals.
FORMATS = {
    "Sop2": (range(0x60), lambda op: [[1 << 31 | op << 23 | VDST << 16 | SRC1 << 8 | SRC0]]),
    "Sopk": (range(0x1d), lambda op: [[0xb << 28 | op << 23 | VDST << 16 | 0x0801]]),
    "Sop1": (range(0x100), lambda op: [[0xbe8 << 20 | VDST << 16 | op << 8 | SRC0]]),
    "Sopc": (range(0x80), lambda op: [[0xbf << 24 | op << 16 | SRC1 << 8 | SRC0]]),
    "Sopp": (range(0x80), lambda op: [[0xbf8 << 20 | op << 16 | 1, 0xbf8 << 20 | op << 16]]),
    # Those without an address have no offset either.
    "Smem": (range(0x100), lambda op: [[0xc0 << 24 | op << 18 | 1 << 17 | VDST << 6 | SRC0 >> 1 | 0x40 << 32,
                                        0xc0 << 24 | op << 18 | VDST << 6, 0xc0 << 24 | op << 18]]),
    "Vop2": (range(0x3e), lambda op: [[op << 25 | VDST << 17 | SRC1 << 9 | 256 + SRC0],
                                      [op << 25 | VDST << 17 | SRC1 << 9 | SRC0]]),
    # Those without operands have none of the fields.
    "Vop1": (range(0x100), lambda op: [[0x7e << 24 | VDST << 17 | op << 9 | 256 + SRC0, 0x7e << 24 | op << 9],
                                       [0x7e << 24 | VDST << 17 | op << 9 | SRC0]]),
    "Vopc": (range(0x100), lambda op: [[0x7c << 24 | op << 17 | SRC1 << 9 | 256 + SRC0],
                                        [0x7c << 24 | op << 17 | SRC1 << 9 | SRC0]]),
    "Vop3": (range(0x380), lambda op: [vop3(op, 0xd0 << 24, scalar) for scalar in (False, True)]),
    "Vop3p": (range(0x80), lambda op: [vop3(op, 0xd38 << 20 | 3 << 59 | 1 << 14, scalar) for scalar in (False, True)]),
    "Ds": (range(0x100), lambda op: [ds(op)]),
    "Flat": (range(0x80), lambda op: [[0xdc << 24 | op << 18 | glc << 16 | SRC0 << 32 | SRC1 << 40 | VDST << 56]
                                      for glc in (1, 0)]),
    "Scratch": (range(0x80), lambda op: [[0xdc << 24 | 1 << 14 | op << 18 | SRC0 << 32 | SRC1 << 40 | 0x7f << 48 | VDST << 56]]),
    "Global": (range(0x80), lambda op: [[0xdc << 24 | 2 << 14 | op << 18 | glc << 16 | SRC0 << 32 | SRC1 << 40 | 0x7f << 48
                                         | VDST << 56] for glc in (1, 0)]),
    "Mubuf": (range(0x80), lambda op: [[0xe0 << 24 | op << 18 | VDST << 40 | (SRC0 >> 2) << 48 | 0x80 << 56]]),
    "Mtbuf": (range(0x10), lambda op: [[0xe8 << 24 | 1 << 19 | op << 15 | VDST << 40 | (SRC0 >> 2) << 48 | 0x80 << 56]]),
}


def size_of(name):
    return 4 if name in ("Sop2", "Sopk", "Sop1", "Sopc", "Sopp", "Vop2", "Vop1", "Vopc") else 8


def disassemble(llvm_mc, architecture, words):
    """The text of each (word, size), or None. A move of its number stands behind each of them."""
    lines = []
    for number, (word, size) in enumerate(words):
        for value, length in ((word, size), (0xbe8000ff | number << 32, 8)):
            lines.append("[" + " ".join(f"0x{byte:02x}" for byte in value.to_bytes(length, "little")) + "]")
    made = subprocess.run([llvm_mc, "--disassemble", "-triple=amdgcn-amd-amdhsa", f"-mcpu={architecture}"],
                          input="\n".join(lines), capture_output=True, text=True)
    texts, pending = [], None
    for line in made.stdout.splitlines():
        line = line.strip()
        if not line or line.startswith("."):
            continue
        marker = re.fullmatch(r"s_mov_b32 s0, (?:0x([0-9a-f]+)|(\d+))", line)
        if not marker:
            pending = None if pending or any(word in line for word in INVALID) else line
            continue
        number = int(marker[1], 16) if marker[1] else int(marker[2])
        texts += [None] * (number - len(texts)) + [pending]
        pending = None
    return texts


def operands_of(text):
    """[(field, registers, class)] and the name; what is no register of a field is left out but for vcc."""
    name, _, rest = text.partition(" ")
    found = []
    for operand in re.split(r", ?", rest.split(" offset")[0].split(" gds")[0]):
        operand = operand.strip().split(" ")[0]
        if operand in ("vcc", "exec", "m0"):
            found.append(("Vcc" if operand == "vcc" else operand.capitalize(), 2 if operand == "vcc" else 1, "s"))
        if operand == hex(LITERAL):
            found.append(("Literal", 1, "s"))
        register = re.fullmatch(r"([vsa])(?:(\d+)|\[(\d+):(\d+)\])", operand)
        if register and register[1]:
            first = int(register[2] or register[3])
            last = int(register[2] or register[4])
            if first in FIELD_OF:
                found.append((FIELD_OF[first], last - first + 1, register[1]))
    return name, found


def merged(texts, name_of_format):
    """Name and operands of an opcode from the texts of its words."""
    known = [operands_of(text) for text in texts if text]
    if not known:
        return None
    name, operands = known[0]
    with_return = name_of_format in ("Flat", "Global") and len(known) == 2 and known[0][1] != known[1][1]
    result = []
    for place, (field, width, kind) in enumerate(operands):
        others = {one[1][place][2] for one in known if len(one[1]) == len(operands)}
        is_factor = name.startswith("v_mfma") and field in ("Src0", "Src1")  # a bit says which registers
        kinds = "Any" if is_factor or {"v", "s"} <= others and field.startswith("Src") else \
            {"v": "Vector", "s": "Scalar", "a": "Accumulator"}[kind]
        result.append((field, width, kinds))
    base = re.sub(r"_(e32|e64)$", "", name)
    return base, base != name, tuple(result), with_return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--llvm-mc", default="llvm-mc-15")
    llvm_mc = parser.parse_args().llvm_mc
    table = {}  # (format, opcode, name, operands, with_return): architectures
    for bit, architecture in enumerate(ARCHITECTURES):
        keys, words = [], []
        for name, (opcodes, words_of) in FORMATS.items():
            for op in opcodes:
                for group, alternatives in enumerate(words_of(op)):
                    for word in alternatives:
                        keys.append((name, op, group))
                        words.append((word, size_of(name)))
                        if size_of(name) == 4:  # some take a literal
                            keys.append((name, op, group))
                            words.append((word | LITERAL << 32, 8))
        first = {}  # of a group
        for key, text in zip(keys, disassemble(llvm_mc, architecture, words)):
            first[key] = first.get(key) or text
        texts = {}
        for (name, op, _), text in first.items():
            texts.setdefault((name, op), []).append(text)
        for (name, op), of_op in texts.items():
            row = merged(of_op, name)
            if row:
                key = (list(FORMATS).index(name), name, op, *row)
                table[key] = table.get(key, 0) | 1 << bit
    print("// Made by tools/gpu_opcodes.py; do not edit. Format, opcode, architectures, name, operands.")
    for (_, name, op, mnemonic, has_suffix, operands, with_return), architectures in sorted(table.items()):
        places = ", ".join(f"{{Field::k{field}, {width}, Registers::k{kinds}}}" for field, width, kinds in operands)
        flags = f"{'true' if has_suffix else 'false'}, {'true' if with_return else 'false'}"
        print(f'{{Format::k{name}, {op}, {architectures}, "{mnemonic}", {flags}, {{{{{places}}}}}}},')
    print(f"{len(table)} rows", file=sys.stderr)


if __name__ == "__main__":
    main()
