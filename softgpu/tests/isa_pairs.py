"""Which instructions can have which modifier, as LLVM's disassembler shows for words that set it. An instruction of
several formats has a modifier if one of them has it."""
import collections
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import gpu_opcodes  # noqa: E402

LLVM_MC = "llvm-mc-15"
TARGETS = ("gfx906", "gfx908", "gfx90a")
# How disassembly shows each modifier.
SHOWN = {"sdwa": r"src0_sel:", "dpp": r"quad_perm:|row_newbcast:", "literal": r"0x(1234)?5678", "clamp": r" clamp",
         "sign": r"-v|neg_lo:\[1", "omod": r"mul:2", "op_sel": r"op_sel:\[1"}
SHORT = {"Vop1": lambda op: 0x7e << 24 | 16 << 17 | op << 9, "Vop2": lambda op: op << 25 | 16 << 17 | 48 << 9,
         "Vopc": lambda op: 0x7c << 24 | op << 17 | 48 << 9, "Sop1": lambda op: 0xbe8 << 20 | 16 << 16 | op << 8,
         "Sop2": lambda op: 2 << 30 | op << 23 | 16 << 16 | 48 << 8, "Sopc": lambda op: 0xbf << 24 | op << 16 | 48 << 8}
LONG = {"Vop3": 0xd0 << 24, "Vop3p": 0xd38 << 20 | 3 << 59 | 1 << 14}
LONG_BITS = {"sign": 1 << 61, "clamp": 1 << 15, "omod": 1 << 59, "op_sel": 1 << 11}


def rows(target):
    """(format, opcode, name, whether it has a long form) from the opcode table."""
    for line in (ROOT / "src/gpu/opcodes.inc").read_text(encoding="utf-8").splitlines():
        found = re.match(r'\{Format::k(\w+), (\d+), (\d+), "(\w+)", (true|false)', line)
        if found and int(found[3]) >> TARGETS.index(target) & 1:
            yield found[1], int(found[2]), found[4], found[5] == "true"


def words_of(kind, op):
    """(modifier, word, bytes); any that can be disassembled counts."""
    if kind in SHORT:
        yield "literal", SHORT[kind](op) | 255 | 0x12345678 << 32, 8
    if kind in ("Vop1", "Vop2", "Vopc"):
        for selections in (0, 6 << 8, 6 << 24, 6 << 8 | 6 << 24):
            yield "sdwa", SHORT[kind](op) | 249 | (32 | selections) << 32, 8
        for control in (0xe4, 0x155):
            yield "dpp", SHORT[kind](op) | 250 | (32 | control << 8 | 0xff << 24) << 32, 8
    if kind in LONG:
        for count in (3, 2, 1):
            sources = sum((256 + 32 + 16 * i) << 32 + 9 * i for i in range(count))
            for modifier, bits in LONG_BITS.items():
                if kind == "Vop3" or modifier != "omod":
                    yield modifier, LONG[kind] | op << 16 | 16 | sources | bits, 8


def possible(target):
    """{modifier: names}; None without LLVM."""
    if not shutil.which(LLVM_MC):
        return None
    found, keys, words = collections.defaultdict(set), [], []
    for kind, op, name, has_long_form in rows(target):
        if kind == "Vop3" and has_long_form:
            found["e64"].add(name)
        for modifier, word, size in words_of(kind, op):
            keys.append((modifier, name))
            words.append((word, size))
    for (modifier, name), text in zip(keys, gpu_opcodes.disassemble(LLVM_MC, target, words)):
        if text and re.search(SHOWN[modifier], text) and text.startswith(name):
            found[modifier].add(name)
    # These contain a number that is not a source.
    found["literal"] -= {"v_madmk_f16", "v_madak_f16", "v_madmk_f32", "v_madak_f32"}
    return found
