"""Random kernels with a memory error, or none, and the expected findings.

A kernel is a list of phases: each thread accesses one element of an array, several times. The same list is printed as
HIP and executed here for each thread, which gives every access with its bytes; the definitions in docs/debugging.md
alone then say what --check has to find."""
import random
import struct

WAVE = 64
TYPES = {"u8": ("unsigned char", 1), "u16": ("unsigned short", 2), "u32": ("unsigned", 4),
         "f32": ("float", 4), "u64": ("unsigned long long", 8), "f64": ("double", 8), "u32x4": ("uint4", 16)}
GROUPS = [(64, 1, 1), (128, 1, 1), (256, 1, 1), (192, 1, 1), (100, 1, 1), (32, 8, 1), (8, 8, 4), (33, 5, 1), (512, 1, 1)]


class Array:
    def __init__(self, rng, number, is_local, threads, groups):
        self.number, self.is_local = number, is_local
        self.type = rng.choice(list(TYPES))
        self.size = TYPES[self.type][1]
        self.count = threads + rng.randrange(0, 40)  # elements of a group
        self.total = self.count * (1 if is_local else groups)
        self.bytes = self.total * self.size
        self.place = 0  # in LDS


class Access:
    """The access of one lane in one execution of an instruction."""

    def __init__(self, kernel, phase, turn, group, thread, begin):
        array = phase.array
        self.array, self.group, self.begin, self.size = array, group, begin, array.size
        self.wave, self.lane = thread // WAVE, thread % WAVE
        self.instruction = (id(phase), turn)
        self.epoch = phase.epoch
        self.kind = {"write": "store", "atomic": "atomic"}.get(phase.what, "load")
        self.counts = phase.what in ("write", "read")  # atomic and volatile accesses do not race
        self.value = phase.stored(thread, turn) if self.kind == "store" else b""


class Phase:
    def __init__(self, rng, arrays, threads):
        self.array = rng.choice(arrays)
        plain = self.array.type in ("u32", "u64")
        self.what = rng.choice(["write"] * 3 + ["read"] * 4 + ["atomic"] * (2 if plain else 0) +
                               ["volatile"] * (1 if plain and not self.array.is_local else 0))
        count = self.array.count
        self.a, self.b = rng.choice([(1, 0), (1, rng.randrange(count)), (count - 1, count - 1),
                                     (rng.choice([3, 5, 7, 11, 13]), rng.randrange(count)), (0, rng.randrange(count))])
        self.divide = rng.choice([1] * 6 + [2, 64])
        self.guard = rng.choice([("all",)] * 4 + [("mod", rng.choice([2, 3, 7])), ("below", rng.randrange(1, threads + 1)),
                                 ("from", rng.randrange(threads)), ("is", rng.randrange(threads))])
        self.turns, self.step = rng.choice([(1, 0)] * 4 + [(rng.randrange(2, 5), rng.randrange(1, 9))])
        self.mul, self.add = rng.choice([1, 3, 0]), rng.randrange(100)
        # Through a separate function, which gets a flat pointer.
        self.is_called = rng.random() < 0.15
        self.barrier = True  # after it
        self.epoch = 0
        self.bad = None      # (group, thread, element of the whole array)

    def takes_part(self, thread):
        kind, *values = self.guard
        return {"all": lambda: True, "mod": lambda v: thread % v == 0, "below": lambda v: thread < v,
                "from": lambda v: thread >= v, "is": lambda v: thread == v}[kind](*values)

    def guard_text(self):
        kind, *values = self.guard
        return {"all": "true", "mod": "t % {0}u == 0", "below": "t < {0}u", "from": "t >= {0}u",
                "is": "t == {0}u"}[kind].format(*values)

    def element(self, group, thread, turn):
        """The element's index in the whole array."""
        if self.bad and self.bad[:2] == (group, thread):
            return self.bad[2]
        own = (self.a * (thread // self.divide) + self.b + turn * self.step) % self.array.count
        return own + (0 if self.array.is_local else group * self.array.count)

    def stored(self, thread, turn):
        value, kind = thread * self.mul + self.add + turn, self.array.type
        if kind == "u32x4":
            return struct.pack("<4I", value, value + 1, value + 2, value + 3)
        if kind in ("f32", "f64"):
            return struct.pack("<f" if kind == "f32" else "<d", value)
        return (value % (1 << 8 * self.array.size)).to_bytes(self.array.size, "little")

    def text(self):
        array, name = self.array, TYPES[self.array.type][0]
        value = f"(t * {self.mul}u + {self.add}u + i)"
        given = f"make_uint4({value}, {value} + 1, {value} + 2, {value} + 3)" if array.type == "u32x4" else f"({name}){value}"
        own = f"(long)(({self.a}u * (t / {self.divide}u) + {self.b}u + i * {self.step}u) % {array.count}u)"
        if not array.is_local:
            own += f" + (long)g * {array.count}"
        lines = [f"  if ({self.guard_text()}) for (unsigned i = 0; i < {self.turns}u; ++i) {{", f"    long e = {own};"]
        if self.bad:
            lines.append(f"    if (g == {self.bad[0]}u && t == {self.bad[1]}u) e = {self.bad[2]};")
        place = f"a{array.number} + e"
        if self.what == "write":
            lines.append(f"    put({place}, {given});" if self.is_called else f"    *({place}) = {given};")
        elif self.what == "read":
            lines.append(f"    acc += take({place});" if self.is_called else f"    acc += sum(*({place}));")
        elif self.what == "volatile":
            lines.append(f"    acc += (unsigned)*(volatile {name}*)({place});")
        else:
            lines.append(f"    acc += (unsigned)atomicAdd({place}, ({name})1);")
        # What follows is not moved up, and what precedes is not optimised away for it.
        lines += ["  }", '  asm volatile("" ::: "memory");']
        return lines + (["  __syncthreads();"] if self.barrier else [])


class Kernel:
    def __init__(self, rng, number, kind):
        self.number, self.kind, self.name = number, kind, f"k{number}"
        while not self.make(rng):
            pass

    def make(self, rng):
        self.group, self.groups = rng.choice(GROUPS), rng.choice([1, 1, 2, 3])
        self.threads = self.group[0] * self.group[1] * self.group[2]
        self.arrays = [Array(rng, n, rng.random() < 0.5, self.threads, self.groups) for n in range(rng.choice([1, 2, 2, 3]))]
        at = 0
        for array in self.arrays:
            if array.is_local:
                array.place = at
                at += (array.bytes + 15) // 16 * 16
        local = [array for array in self.arrays if array.is_local]
        self.local_bytes = local[-1].place + local[-1].bytes if local else 0
        if self.local_bytes > 48 * 1024:
            return False
        self.phases = [Phase(rng, self.arrays, self.threads) for _ in range(rng.randrange(2, 8))]
        self.set_epochs()
        # No phase races with itself, and there is a barrier where one is needed, or optionally
        # elsewhere.
        self.phases = [p for p in self.phases if not self.races(self.accesses([p]))]
        for phase in self.phases:
            phase.barrier = rng.random() < 0.2
        for i in range(1, len(self.phases)):
            self.set_epochs()
            if self.races(self.accesses(self.phases[:i + 1])):
                self.phases[i - 1].barrier = True
        self.set_epochs()
        if len(self.phases) < 2 or self.races(self.accesses(self.phases)):
            return False
        return {"correct": lambda r: True, "race": self.break_order, "bounds": self.break_bounds,
                "freed": self.free_one, "unwritten": self.leave_unwritten}[self.kind](rng)

    def set_epochs(self):
        epoch = 0
        for phase in self.phases:
            phase.epoch = epoch
            epoch += phase.barrier

    def accesses(self, phases):
        """The accesses of one group after another; addresses are offsets in the array, or in LDS."""
        made = []
        for group in range(self.groups):
            for number, phase in enumerate(phases):
                for turn in range(phase.turns):
                    for thread in range(self.threads):
                        if phase.takes_part(thread):
                            begin = phase.array.place + phase.element(group, thread, turn) * phase.array.size
                            made.append(Access(self, phase, turn, group, thread, begin))
                            made[-1].order = number, turn
        return made

    @staticmethod
    def is_race(one, other, byte=None):
        """Whether the two accesses race, at this byte if one is given."""
        if not (one.counts and other.counts) or one.epoch != other.epoch or one.group != other.group:
            return False
        if one.array.is_local != other.array.is_local or (not one.array.is_local and one.array is not other.array):
            return False
        if one.wave != other.wave:
            return "store" in (one.kind, other.kind)
        if one.instruction != other.instruction or one.kind != "store" or one.lane == other.lane:
            return False
        both = range(max(one.begin, other.begin), min(one.begin, other.begin) + one.size)
        return any(one.value[at - one.begin] != other.value[at - other.begin] for at in both if byte in (None, at))

    @classmethod
    def races(cls, accesses):
        """Whether any two of the accesses race."""
        at = {}
        for access in accesses:
            if access.counts:
                key = (access.group, access.epoch, access.array.is_local or access.array.number)
                for byte in range(access.begin, access.begin + access.size):
                    at.setdefault((key, byte), []).append(access)
        for there in at.values():
            stores = [a for a in there if a.kind == "store"]
            if any(cls.is_race(store, other) for store in stores[:3] for other in there):
                return True
            if len(stores) > 3 and any(cls.is_race(store, other) for store in stores for other in there):
                return True
        return False

    def break_order(self, rng):
        """Removes a barrier that is needed, or adds a phase that races with itself."""
        if rng.random() < 0.25:
            for _ in range(30):
                phase = Phase(rng, self.arrays, self.threads)
                if self.races(self.accesses([phase])):
                    self.phases.insert(rng.randrange(len(self.phases) + 1), phase)
                    self.set_epochs()
                    return True
        places = [p for p in self.phases if p.barrier]
        rng.shuffle(places)
        for phase in places:
            phase.barrier = False
            self.set_epochs()
            if self.races(self.accesses(self.phases)):
                return True
            phase.barrier = True
        return False

    def break_bounds(self, rng):
        """One thread accesses memory out of bounds, or the buffer ends within an element."""
        phase = rng.choice(self.phases)
        array = phase.array
        if not array.is_local and array.size > 1 and rng.random() < 0.3:
            array.bytes -= rng.randrange(1, array.size)
        else:
            taking = [t for t in range(self.threads) if phase.takes_part(t)]
            far = rng.choice([0, 0, 1, rng.randrange(1, 50), rng.randrange(50, 60000 // array.size)])
            if array.is_local:
                # Outside LDS, not only outside the array.
                element = (self.local_bytes - array.place + array.size - 1) // array.size + min(far, 2000)
            else:
                element = array.total + far if rng.random() < 0.7 else -1 - far
            phase.bad = (rng.randrange(self.groups), rng.choice(taking), element)
        return bool(self.outside())

    def free_one(self, rng):
        arrays = [p.array for p in self.phases if not p.array.is_local]
        self.freed = rng.choice(arrays) if arrays else None
        return self.freed is not None

    def leave_unwritten(self, rng):
        """Leaves an array, or all of LDS, uninitialised."""
        array = rng.choice(self.arrays)
        self.unwritten = [a for a in self.arrays if a.is_local] if array.is_local else [array]
        return bool(self.reads_unwritten())

    def reads_unwritten(self):
        """Reads of dwords in which no byte can have been written before."""
        accesses = [a for a in self.accesses(self.phases) if a.array in self.unwritten]
        writers, readers = {}, set()  # of an array in global memory, or in a group's LDS
        for a in accesses:
            memory = ("lds", a.group) if a.array.is_local else a.array.number
            who = a.group, a.epoch, a.wave, a.order
            dwords = range(a.begin // 4, (a.begin + a.size + 3) // 4)
            if a.kind != "store":
                readers.update((memory, dword, who) for dword in dwords)
            if a.kind != "load":
                for dword in dwords:
                    writers.setdefault((memory, dword), set()).add(who)
        return [read for read in readers if not any(self.may_precede(one, read[2]) for one in writers.get(read[:2], ()))]

    @staticmethod
    def may_precede(one, other):
        """Each is (group, epoch, wave, order in the wave)."""
        if one[0] != other[0]:
            return True
        if one[1] != other[1]:
            return one[1] < other[1]
        return one[2] != other[2] or one[3] < other[3]

    def surely_written(self, reader, byte):
        """Whether the byte is certainly written before the reader's access."""
        return any(a.kind != "load" and a.group == reader.group and a.array is reader.array and
                   a.begin <= byte < a.begin + a.size and
                   (a.epoch < reader.epoch or (a.wave == reader.wave and a.epoch == reader.epoch and a.order < reader.order))
                   for a in self.accesses(self.phases))

    def is_outside(self, array, byte):
        """For an array in LDS: outside all of LDS. A freed array is outside as a whole."""
        return byte < 0 or byte >= (self.local_bytes if array.is_local else array.bytes) or \
            array is getattr(self, "freed", None)

    def outside(self):
        """The accesses that are out of bounds, or in the freed array."""
        return [a for a in self.accesses(self.phases)
                if self.is_outside(a.array, a.begin) or self.is_outside(a.array, a.begin + a.size - 1)]

    def text(self):
        globals_ = [a for a in self.arrays if not a.is_local]
        parameters = "".join(f"{TYPES[a.type][0]}* a{a.number}, " for a in globals_)
        lines = [f"__global__ void {self.name}({parameters}unsigned* out) {{",
                 "  extern __shared__ __attribute__((aligned(16))) unsigned char lds[];",
                 "  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
                 "  const unsigned g = blockIdx.x;", "  unsigned acc = 0;"]
        lines += [f"  {TYPES[a.type][0]}* const a{a.number} = ({TYPES[a.type][0]}*)(lds + {a.place});"
                  for a in self.arrays if a.is_local]
        unwritten = getattr(self, "unwritten", [])
        if self.local_bytes and not any(a.is_local for a in unwritten):
            lines += [f"  for (unsigned i = t * 4; i + 4 <= {self.local_bytes}u; i += {self.threads * 4}u) *(unsigned*)(lds + i) = 0;",
                      f"  if (t < {self.local_bytes % 4}u) lds[{self.local_bytes // 4 * 4}u + t] = 0;", "  __syncthreads();"]
        for phase in self.phases:
            lines += phase.text()
        lines += [f"  out[g * {self.threads}u + t] = acc;", "}", f"static void run_{self.name}() {{"]
        for a in globals_:
            lines.append(f"  auto* a{a.number} = make<{TYPES[a.type][0]}>({a.number}, {a.bytes}, {str(a not in unwritten).lower()});")
        lines.append(f"  auto* out = make<unsigned>(-1, {self.threads * self.groups * 4});")
        if getattr(self, "freed", None):
            lines.append(f"  CHECK(hipFree(a{self.freed.number}));")
        arguments = "".join(f"a{a.number}, " for a in globals_)
        x, y, z = self.group
        lines += [f"  {self.name}<<<{self.groups}, dim3({x}, {y}, {z}), {self.local_bytes}>>>({arguments}out);", "}"]
        return "\n".join(lines)


HEAD = """// Made by generate.py.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(call) do { if ((call) != hipSuccess) { std::printf("FAILED: %s\\n", #call); std::exit(3); } } while (0)
template <class T> __device__ unsigned sum(T value) { return (unsigned)value; }
// All of it is used, or compilers load less.
__device__ unsigned sum(unsigned long long value) { return (unsigned)value ^ (unsigned)(value >> 32); }
__device__ unsigned sum(uint4 value) { return value.x + value.y + value.z + value.w; }
template <class T> __device__ __attribute__((noinline)) void put(T* to, T value) { *to = value; }
template <class T> __device__ __attribute__((noinline)) unsigned take(const T* from) { return sum(*from); }
static int current;
template <class T> T* make(int array, size_t bytes, bool has_zeros = true) {
  T* memory = nullptr;
  CHECK(hipMalloc(&memory, bytes));
  const std::vector<char> zeros(bytes);
  if (has_zeros) CHECK(hipMemcpy(memory, zeros.data(), bytes, hipMemcpyHostToDevice));
  std::printf("{\\"kernel\\": %d, \\"array\\": %d, \\"address\\": %zu}\\n", current, array, (size_t)memory);
  std::fflush(stdout);
  return memory;
}
"""
TAIL = """
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    current = std::atoi(words[i]);
    kRuns[current]();
    CHECK(hipDeviceSynchronize());
  }
  std::printf("{\\"done\\": %d}\\n", count - 1);
}
"""


def make_kernels(seed, counts):
    """`counts` kernels of each kind, in random order."""
    rng = random.Random(seed)
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    rng.shuffle(kinds)
    return [Kernel(rng, number, kind) for number, kind in enumerate(kinds)]


def program(kernels):
    runs = ", ".join(f"run_{k.name}" for k in kernels)
    return HEAD + "\n".join(k.text() for k in kernels) + f"\nstatic void (*const kRuns[])() = {{{runs}}};\n" + TAIL
