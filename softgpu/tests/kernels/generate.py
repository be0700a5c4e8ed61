#!/usr/bin/env python3
"""Random GPU kernels and, for each, a host program that computes the same another way.

  generate.py --seed 7 --kernels 8 --out DIR   writes DIR/kernels.hip and DIR/expected.cpp

The kernel is ordinary HIP: one thread of control for each work item. The host program executes the same statements in
lock-step: each statement for all items of a group before the next, under masks, and shares nothing with the way
softgpu runs kernels. All values are defined: no signed overflow, no division by zero, no race, no use of an atomic's
result."""
import argparse
import os
import random

INTS = {"i8": ("int8_t", 8), "u8": ("uint8_t", 8), "i16": ("int16_t", 16), "u16": ("uint16_t", 16),
        "i32": ("int32_t", 32), "u32": ("uint32_t", 32), "i64": ("int64_t", 64), "u64": ("uint64_t", 64)}
FLOATS = {"f32": "float", "f64": "double"}
TYPES = {**{k: v[0] for k, v in INTS.items()}, **FLOATS}
WAVE = 64
# Functions of two and of three words.
PAIRS = ["p_add", "p_sub", "p_mul", "p_min", "p_max", "p_shl", "p_asr", "h_add", "h_sub", "h_mul", "h_min", "h_mix"]
MATRICES = ["32x32x1f32", "16x16x4f32", "4x4x1f32", "16x16x16f16", "32x32x8f16", "16x16x4bf16", "32x32x8i8",
            "4x4x4i8", "16x16x4f64", "4x4x4f64"]
MATRICES_OF = {"gfx90a": MATRICES, "gfx906": [],
               "gfx908": [*(m for m in MATRICES if not m.endswith(("f64", "bf16"))), "16x16x8bf16", "32x32x2bf16"]}
SUMS = ["i_perm", "i_lerp", "i_msad", "i_alignbyte", "i_sdot2", "i_udot2", "i_sdot4", "i_udot4", "i_sdot8", "i_udot8"]


class Kernel:
    """Statements are kept as a tree and printed twice."""

    def __init__(self, rng, name, matrices, whole=False):
        self.rng = rng
        self.name = name
        self.variables = []      # (name, type)
        self.loops = 0
        self.waits = rng.random() < 0.6
        self.lanes = self.waits and rng.random() < 0.8
        self.diverges = self.lanes and rng.random() < 0.5  # mostly loops, early exits and lanes
        self.partial = rng.random() < 0.3 and not whole
        self.group = rng.choice([(64, 1, 1), (256, 1, 1), (16, 8, 1), (4, 4, 4), (33, 3, 1), (1, 1, 1),
                                 (100, 1, 1), (8, 4, 8), (2, 65, 1), (512, 1, 1)])
        self.groups = rng.choice([(3, 1, 1), (2, 2, 1), (1, 2, 3), (7, 1, 1), (2, 1, 2)])
        self.grid = tuple(g * n for g, n in zip(self.group, self.groups))
        if self.partial:
            self.grid = tuple(max(1, g - rng.randrange(size)) for g, size in zip(self.grid, self.group))
        self.threads = self.group[0] * self.group[1] * self.group[2]
        # All lanes of a wave take part in a matrix product, so all must exist.
        self.matrices = matrices
        self.multiplies = matrices and not self.partial and self.threads % WAVE == 0
        self.scalars = [(f"a{i}", rng.choice(list(TYPES))) for i in range(rng.randrange(1, 6))]
        self.fields = [(f"m{i}", rng.choice(list(TYPES))) for i in range(rng.randrange(1, 6))]
        self.scalar_values = {n: self.literal(t) for n, t in self.scalars}
        self.field_values = {n: self.literal(t) for n, t in self.fields}
        self.lds_type = rng.choice(["u32", "i16", "f32", "u64", "f64", "u8"])
        self.dynamic_type = rng.choice(["u32", "u64", "f32"])
        for i in range(rng.randrange(4, 9)):
            self.variables.append((f"v{i}", rng.choice(list(TYPES))))
        self.used_barriers = False
        self.body = self.block(2, rng.randrange(6, 12), top=True)

    # Expressions. `{x}` marks what the two printers spell differently.

    def literal(self, kind):
        rng = self.rng
        if kind in FLOATS:
            return f"{TYPES[kind]}({rng.choice([rng.uniform(-4, 4), rng.uniform(-1e4, 1e4), rng.randrange(-9, 9)])!r})"
        bits = INTS[kind][1]
        value = rng.choice([rng.randrange(0, 10), rng.getrandbits(bits), (1 << bits) - 1, 1 << (bits - 1),
                            # Encoded in 32 bits in an instruction.
                            rng.getrandbits(32) | 1 << 31, -rng.getrandbits(31)])
        return f"{TYPES[kind]}({value & ((1 << bits) - 1)}ull)"

    def leaf(self, kind):
        rng = self.rng
        same = [f"{{{n}}}" for n, t in self.variables if t == kind]
        pick = rng.random()
        if same and pick < 0.55:
            return rng.choice(same)
        if pick < 0.7:
            return self.literal(kind)
        others = [(f"{{{n}}}", t) for n, t in self.variables]
        others += [(f"A.{n}", t) for n, t in self.scalars] + [(f"A.s.{n}", t) for n, t in self.fields]
        others += [("{gid}", "u32"), ("{lid}", "u32"), ("{bx}", "u32"), ("{ty}", "u32")]
        others += [("in_i[({gid}) % 1024u]", "i32"), ("in_f[({gid} * 3u + 1u) % 1024u]", "f32")]
        text, have = rng.choice(others)
        return self.cast(text, have, kind)

    def cast(self, text, have, want):
        if have == want:
            return text
        if have in FLOATS and want in INTS:
            return f"to_int<{TYPES[want]}>({text})"
        return f"{TYPES[want]}({text})"

    def expression(self, kind, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return self.leaf(kind)
        a = self.expression(kind, depth - 1)
        b = self.expression(kind, depth - 1)
        pick = rng.random()
        if pick < 0.12:
            return f"({self.condition(depth - 1)} ? {a} : {b})"
        if pick < 0.22:
            other = rng.choice(list(TYPES))
            return self.cast(self.expression(other, depth - 1), other, kind)
        if kind in FLOATS:
            return self.float_operation(kind, a, b)
        return self.int_operation(kind, a, b)

    def float_operation(self, kind, a, b):
        operation = self.rng.choice(["+", "-", "*", "/", "min", "max", "sqrt", "floor", "fma", "rint", "abs", "ldexp"])
        if operation in "+*/":
            return f"({a} {operation} {b})"
        if operation in ("-", "min", "max"):
            return f"f_{'sub' if operation == '-' else operation}({a}, {b})"
        if operation == "fma":
            return f"f_fma({a}, {b}, {self.leaf(kind)})"
        if operation == "ldexp":
            return f"f_ldexp({a}, int({self.leaf('i8')}) / 8)"
        return f"f_{operation}({a})"

    def int_operation(self, kind, a, b):
        name, bits = INTS[kind]
        wide = "uint64_t" if bits == 64 else "uint32_t"
        operation = self.rng.choice(["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "~", "min", "bits"])
        if operation in "~^" and bits == 64:
            return f"{name}(flip({wide}({a}), {wide}({b if operation == '^' else '-1'})))"
        if operation in ("+", "-", "*", "&", "|", "^"):
            return f"{name}({wide}({a}) {operation} {wide}({b}))"
        if operation == "<<":
            return f"{name}({wide}({a}) << ({wide}({b}) & {bits - 1}u))"
        if operation == ">>":
            return f"{name}({a} >> ({wide}({b}) & {bits - 1}u))"
        if operation in "/%":
            return f"divide<{name}, '{operation}'>({a}, {b})"
        if operation == "~":
            return f"{name}(~{a})"
        if operation == "min":
            return f"({a} < {b} ? {a} : {b})"
        u, v = f"uint32_t({a})", f"uint32_t({b})"
        if self.rng.random() < 0.5:  # two halves or integers of 16 bits, four of eight, eight of four
            function = self.rng.choice(PAIRS + SUMS)
            third = f"{self.rng.getrandbits(32)}u" if function == "i_perm" else self.leaf("u32")
            return f"{name}({function}({u}, {v}{f', {third}' if function in SUMS else ''}))"
        function = self.rng.choice(["i_popc", "i_clz", "i_ffs", "i_brev", "i_mulhi", "i_mul24", "i_sad", "i_bfe"])
        if function in ("i_popc", "i_clz", "i_ffs", "i_brev"):
            return f"{name}({function}({u}))"
        if function in ("i_sad", "i_bfe"):
            return f"{name}({function}({u}, {v}, 7u))"
        return f"{name}({function}({u}, {v}))"

    def condition(self, depth):
        kind = self.rng.choice(list(TYPES))
        a, b = self.expression(kind, max(0, depth)), self.expression(kind, max(0, depth))
        return f"({a} {self.rng.choice(['<', '>', '==', '!=', '<=', '>='])} {b})"

    # Statements: tuples whose first element is the kind.

    def block(self, depth, count, top=False, loop=False):
        out = [self.statement(depth, top, loop) for _ in range(count)]
        if loop and self.rng.random() < (0.8 if self.diverges else 0.35):
            leave = self.rng.choice(["break", "continue"])
            out.insert(self.rng.randrange(len(out) + 1), ("if", self.condition(1), [(leave,)], []))
        return out

    def statement(self, depth, top, loop):
        rng = self.rng
        pick = rng.random()
        if self.diverges and pick > 0.3:
            pick = rng.choice([0.1, 0.2, 0.2, 0.5, 0.5, 0.5, 0.95])
        if depth and pick < 0.18:
            return ("if", self.condition(2), self.block(depth - 1, rng.randrange(1, 4), False, loop),
                    self.block(depth - 1, rng.randrange(0, 3), False, loop))
        if depth and pick < 0.33:
            self.loops += 1
            bound = rng.choice([str(rng.randrange(1, 6)), f"(({{lid}} ^ uint32_t({self.leaf('i32')})) % 5u)"])
            return ("loop", self.loops, bound, self.block(depth - 1, rng.randrange(1, 4), False, True))
        if pick < 0.45:
            return ("atomic", rng.choice(["add", "max", "or", "xor", "min", "addf", "add64", "inc"]), rng.randrange(16),
                    self.leaf("u32"))
        if self.lanes and pick < 0.65:
            return self.lane_statement()
        if self.multiplies and top and pick < 0.72:
            return ("matrix", rng.choice(self.matrices), *rng.choice(self.variables), *(self.leaf("u32") for _ in range(3)))
        if self.waits and top and pick < 0.85:
            return self.exchange()
        name, kind = rng.choice(self.variables)
        return ("assign", name, self.expression(kind, 3))

    def lane_statement(self):
        rng = self.rng
        kinds = {"shfl": ["i32", "u32", "f32", "u64", "f64"], "ballot": ["u64"], "any": ["i32"], "all": ["i32"],
                 "xor": ["i32", "f32"], "up": ["u32"], "down": ["i32"], "first": ["u32"], "dpp": ["u32"], "swizzle": ["u32"]}
        operation = rng.choice(list(kinds))
        targets = [(n, t) for n, t in self.variables if t in kinds[operation]]
        if not targets:
            name = f"v{len(self.variables)}"
            self.variables.append((name, kinds[operation][0]))
            targets = [self.variables[-1]]
        name, kind = rng.choice(targets)
        if operation in ("ballot", "any", "all"):
            return ("lane", operation, name, kind, self.condition(1), "0")
        amount = {"shfl": f"int(uint32_t({self.leaf('u32')}) % 64u)", "xor": str(rng.choice([1, 2, 5, 16, 32])),
                  "up": str(rng.randrange(1, 5)), "down": str(rng.randrange(1, 5)), "first": "0",
                  "dpp": str(rng.choice([0x1b, 0xb1, 0x101, 0x112, 0x121, 0x140, 0x141, 0x142, 0x143])),
                  "swizzle": str(rng.choice([0x041f, 0x081f, 0x401f, 0x801b]))}[operation]
        return ("lane", operation, name, kind, self.expression(kind, 1), amount)

    def exchange(self):
        """All items write their slot, wait, and read another's."""
        rng = self.rng
        self.used_barriers = True
        place = rng.choice(["lds", "dynamic"])
        kind = self.lds_type if place == "lds" else self.dynamic_type
        targets = [(n, t) for n, t in self.variables]
        name, have = rng.choice(targets)
        index = rng.choice(["{count} - 1u - {lid}", "({lid} + 7u) % {count}", "({lid} * 3u + 1u) % {count}", "0u"])
        if rng.random() < 0.3:
            return ("tally", self.leaf("u32"), name, have)
        return ("exchange", place, kind, self.expression(kind, 2), name, have, index)


def exchanges_lanes(statements):
    return any(statement[0] == "lane" or any(exchanges_lanes(part) for part in statement if isinstance(part, list))
               for statement in statements)


class Printer:
    def __init__(self, kernel):
        self.kernel = kernel
        self.lines = []
        self.indent = 1

    def put(self, text):
        self.lines.append("  " * self.indent + text)

    def block(self, statements, *state):
        self.indent += 1
        for statement in statements:
            getattr(self, "on_" + statement[0])(*statement[1:], *state)
        self.indent -= 1


class DevicePrinter(Printer):
    NAMES = {"gid": "gid", "lid": "lid", "bx": "uint32_t(blockIdx.x)", "ty": "uint32_t(threadIdx.y)",
             "count": "count"}
    lanes = 0  # statements that exchange values between lanes

    def text(self, expression):
        names = {**self.NAMES, **{n: n for n, _ in self.kernel.variables}}
        return expression.format(**names)

    def on_assign(self, name, expression):
        self.put(f"{name} = {self.text(expression)};")

    def on_if(self, condition, then, other):
        self.put(f"if ({self.text(condition)}) {{")
        self.block(then)
        self.put("} else {")
        self.block(other)
        self.put("}")

    def on_loop(self, number, bound, body):
        if exchanges_lanes(body):
            # After unrolling, lanes in different iterations could meet in code that LLVM merges.
            self.put("#pragma nounroll")
        self.put(f"for (uint32_t i{number} = 0, n{number} = {self.text(bound)}; i{number} < n{number}; i{number}++) {{")
        self.block(body)
        self.put("}")

    def on_break(self):
        self.put("break;")

    def on_continue(self):
        self.put("continue;")

    def on_atomic(self, operation, index, value):
        self.put(f"atomic_{operation}(counters, {index}, {self.text(value)});")

    def on_lane(self, operation, name, kind, value, amount):
        self.lanes += 1
        self.put(f"unlike_others<{self.lanes}>();")
        if operation in ("dpp", "swizzle"):
            self.put(f"{name} = lane_{operation}<{amount}>({self.text(value)});")
        elif operation in ("ballot", "any", "all", "first"):
            self.put(f"{name} = {TYPES[kind]}(lane_{operation}({self.text(value)}));")
        else:
            self.put(f"{name} = lane_{operation}<{TYPES[kind]}>({self.text(value)}, {self.text(amount)});")

    def on_matrix(self, shape, name, kind, a, b, c):
        product = f"in_place(m_{shape}({self.text(a)}, {self.text(b)}, {self.text(c)}))"
        self.put(f"{name} = {self.kernel.cast(product, 'u32', kind)};")

    def on_exchange(self, place, kind, value, name, have, index):
        self.put(f"{place}[lid] = {self.text(value)};")
        self.put("__syncthreads();")
        self.put(f"{name} = {self.kernel.cast(f'{place}[{self.text(index)}]', kind, have)};")
        self.put("__syncthreads();")

    def on_tally(self, value, name, have):
        self.put("if (lid < 8u) bins[lid] = 0;")
        self.put("__syncthreads();")
        self.put(f"atomicAdd(&bins[{self.text(value)} % 8u], 1u);")
        self.put("__syncthreads();")
        self.put(f"{name} = {self.kernel.cast('bins[lid % 8u]', 'u32', have)};")
        self.put("__syncthreads();")

    def kernel_text(self):
        k = self.kernel
        self.put(f"__shared__ {TYPES[k.lds_type]} lds[{k.threads}];")
        self.put("__shared__ uint32_t bins[8];")
        self.put("extern __shared__ uint64_t dynamic_bytes[];")
        self.put(f"auto* dynamic = reinterpret_cast<{TYPES[k.dynamic_type]}*>(dynamic_bytes);")
        self.put("uint32_t sx = blockDim.x, sy = blockDim.y, sz = blockDim.z, count = sx * sy * sz;")
        self.put("uint32_t lid = (threadIdx.z * sy + threadIdx.y) * sx + threadIdx.x;")
        gx, gy, gz = k.group
        self.put(f"uint32_t x = blockIdx.x * {gx}u + threadIdx.x, y = blockIdx.y * {gy}u + threadIdx.y;")
        self.put(f"uint32_t z = blockIdx.z * {gz}u + threadIdx.z;")
        self.put(f"uint32_t gid = (z * {k.grid[1]}u + y) * {k.grid[0]}u + x;")
        self.put("(void)dynamic; (void)count; (void)lds; (void)bins;")
        for i, (name, kind) in enumerate(k.variables):
            self.put(f"{TYPES[kind]} {name} = {TYPES[kind]}((gid * {2 * i + 1}u + {i}u) & 127u);")
        self.block(k.body)
        for i, (name, _) in enumerate(k.variables):
            self.put(f"out[gid * {len(k.variables)}u + {i}u] = bits_of({name});")
        return [f"extern \"C\" __global__ void {k.name}(Args_{k.name} A, const int32_t* in_i, const float* in_f, "
                "uint64_t* out, uint64_t* counters) {"] + self.lines + ["}"]


class HostPrinter(Printer):
    """Lock-step: `m` is the mask of the enclosing block, `c` that of the enclosing loop's iteration."""

    def __init__(self, kernel):
        super().__init__(kernel)
        self.masks = 0

    def text(self, expression):
        names = {"gid": "gid[l]", "lid": "uint32_t(l)", "bx": "bx", "ty": "ty[l]", "count": "count",
                 **{n: f"{n}[l]" for n, _ in self.kernel.variables}}
        return expression.format(**names)

    def new_mask(self):
        self.masks += 1
        return f"m{self.masks}"

    def each(self, m, c, text):
        self.put(f"EACH({m}, {c}) {{ {text} }}")

    def on_assign(self, name, expression, m, c, loop):
        self.each(m, c, f"{name}[l] = {self.text(expression)};")

    def on_if(self, condition, then, other, m, c, loop):
        yes, no = self.new_mask(), self.new_mask()
        self.put(f"Mask {yes}{{}}, {no}{{}};")
        self.each(m, c, f"bool t = {self.text(condition)}; {yes}[l] = t; {no}[l] = !t;")
        self.block(then, yes, c, loop)
        self.block(other, no, c, loop)

    def on_loop(self, number, bound, body, m, c, loop):
        inside, iteration = self.new_mask(), self.new_mask()
        self.put(f"Mask {inside}{{}}; std::array<uint32_t, kLanes> n{number}{{}}, i{number}{{}};")
        self.each(m, c, f"n{number}[l] = {self.text(bound)}; {inside}[l] = true;")
        self.put("while (true) {")
        self.put(f"  for (int l = 0; l < kLanes; l++) if (i{number}[l] >= n{number}[l]) {inside}[l] = false;")
        self.put(f"  if (!any({inside})) break;")
        self.put(f"  Mask {iteration} = {inside};")
        self.block(body, inside, iteration, inside)
        self.put(f"  for (int l = 0; l < kLanes; l++) i{number}[l]++;")
        self.put("}")

    def on_break(self, m, c, loop):
        self.each(m, c, f"{loop}[l] = false; {c}[l] = false;")

    def on_continue(self, m, c, loop):
        self.each(m, c, f"{c}[l] = false;")

    def on_atomic(self, operation, index, value, m, c, loop):
        self.each(m, c, f"atomic_{operation}(counters, {index}, {self.text(value)});")

    def on_lane(self, operation, name, kind, value, amount, m, c, loop):
        kind = TYPES[kind]
        self.put("{")
        self.put(f"  std::array<{'bool' if operation in ('ballot', 'any', 'all') else kind}, kLanes> given{{}}; Mask on{{}}; std::array<int, kLanes> how{{}};")
        self.each(m, c, f"given[l] = {self.text(value)}; on[l] = true; how[l] = {self.text(amount)};")
        self.each(m, c, f"{name}[l] = {kind}(lane_{operation}(given, on, how[l], l));")
        self.put("}")

    def on_matrix(self, shape, name, kind, a, b, c_, m, c, loop):
        self.put("{")
        self.put("  std::array<uint32_t, kLanes> a{}, b{}, c{};")
        self.each(m, c, f"a[l] = {self.text(a)}; b[l] = {self.text(b)}; c[l] = {self.text(c_)};")
        self.put(f"  const auto made = matrix_product(m_{shape}, a, b, c);")
        self.each(m, c, f"{name}[l] = {self.kernel.cast('made[l]', 'u32', kind)};")
        self.put("}")

    def on_exchange(self, place, kind, value, name, have, index, m, c, loop):
        self.each(m, c, f"{place}[l] = {self.text(value)};")
        self.each(m, c, f"{name}[l] = {self.kernel.cast(f'{place}[{self.text(index)}]', kind, have)};")

    def on_tally(self, value, name, have, m, c, loop):
        self.put("for (uint32_t& bin : bins) bin = 0;" if self.kernel.threads >= 8 else
                 "for (uint32_t b = 0; b < count && b < 8; b++) bins[b] = 0;")
        self.each(m, c, f"bins[{self.text(value)} % 8u]++;")
        self.each(m, c, f"{name}[l] = {self.kernel.cast('bins[l % 8]', 'u32', have)};")

    def kernel_text(self):
        k = self.kernel
        kind = TYPES[k.dynamic_type]
        head = [f"void expect_{k.name}(const Args_{k.name}& A, const int32_t* in_i, const float* in_f, uint64_t* out,",
                "    uint64_t* counters, uint32_t bx, uint32_t by, uint32_t bz) {",
                f"  constexpr int kLanes = {k.threads};",
                "  using Mask = std::array<bool, kLanes>;",
                "  Mask m0{}, c0{};",
                "  std::array<uint32_t, kLanes> gid{}, ty{};",
                f"  std::array<{TYPES[k.lds_type]}, kLanes> lds{{}}; std::array<{kind}, kLanes> dynamic{{}}; uint32_t bins[8] = {{}};"]
        gx, gy, gz = k.group
        self.put(f"uint32_t sx = std::min({gx}u, {k.grid[0]}u - bx * {gx}u), sy = std::min({gy}u, {k.grid[1]}u - by * {gy}u);")
        self.put(f"uint32_t sz = std::min({gz}u, {k.grid[2]}u - bz * {gz}u), count = sx * sy * sz;")
        self.put("for (uint32_t l = 0; l < count; l++) {")
        self.put(f"  ty[l] = l / sx % sy; m0[l] = c0[l] = true;")
        self.put(f"  gid[l] = ((bz * {gz}u + l / sx / sy) * {k.grid[1]}u + by * {gy}u + ty[l]) * {k.grid[0]}u + bx * {gx}u + l % sx;")
        self.put("}")
        self.put("(void)lds; (void)dynamic; (void)bins;")
        for i, (name, kind) in enumerate(k.variables):
            self.put(f"std::array<{TYPES[kind]}, kLanes> {name}{{}};")
            self.each("m0", "c0", f"{name}[l] = {TYPES[kind]}((gid[l] * {2 * i + 1}u + {i}u) & 127u);")
        self.block(k.body, "m0", "c0", "m0")
        for i, (name, _) in enumerate(k.variables):
            self.each("m0", "c0", f"out[gid[l] * {len(k.variables)}u + {i}u] = bits_of({name}[l]);")
        return head + self.lines + ["}"]


def arguments_text(kernel):
    fields = " ".join(f"{TYPES[t]} {n};" for n, t in kernel.fields)
    scalars = " ".join(f"{TYPES[t]} {n};" for n, t in kernel.scalars)
    return f"struct Args_{kernel.name} {{ {scalars} struct {{ {fields} }} s; }};"


def table_row(kernel):
    k = kernel
    values = ", ".join([*k.scalar_values.values(), "{" + ", ".join(k.field_values.values()) + "}"])
    return (f"  {{\n    static const Args_{k.name} A = {{{values}}};\n"
            f"    check<Args_{k.name}>(\"{k.name}\", A, expect_{k.name}, {{{k.grid[0]}u, {k.grid[1]}u, {k.grid[2]}u}}, "
            f"{{{k.group[0]}u, {k.group[1]}u, {k.group[2]}u}}, {len(k.variables)}u, {8 * k.threads}u);\n  }}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--kernels", type=int, default=8)
    parser.add_argument("--out", required=True)
    parser.add_argument("--arch", default="gfx90a", choices=MATRICES_OF, help="whose matrix products there are")
    parser.add_argument("--whole", action="store_true", help="no work group at an edge of the grid is a part of one")
    parser.add_argument("--without", nargs="*", default=[], help="kernels that are left out, the others being the same")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    kernels = [Kernel(rng, f"k{args.seed}_{i}", MATRICES_OF[args.arch], args.whole) for i in range(args.kernels)]
    kernels = [kernel for kernel in kernels if kernel.name not in args.without]
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "kernels.hip"), "w") as file:
        print('#include <hip/hip_runtime.h>\n#include "device.h"', file=file)
        for kernel in kernels:
            print(arguments_text(kernel), *DevicePrinter(kernel).kernel_text(), sep="\n", file=file)
    with open(os.path.join(args.out, "expected.cpp"), "w") as file:
        print('#include "expected.h"', file=file)
        for kernel in kernels:
            print(arguments_text(kernel), *HostPrinter(kernel).kernel_text(), sep="\n", file=file)
        print("int main(int argc, char** argv) {\n  begin(argc, argv);", file=file)
        print(*map(table_row, kernels), sep="\n", file=file)
        print("  return finish();\n}", file=file)


if __name__ == "__main__":
    main()
