#!/usr/bin/python3
"""Compares `sonde perf` and `sonde counters` with figures that are counted here, one by one: every
multiplication and addition of plain loops over small shapes, every address that a tensor has in
memory. From the JSON itself and from the .rpd it is imported into. With real traces also: that the
kernels of all rows are those of the file, to the nanosecond, and that the matrix products have the
FLOPs of the sizes in the file.

    perf_test.py --sonde PATH [unittest arguments]

Real traces come from SONDE_SHARED (default ../shared beside the project) and are skipped without."""
import gzip
import itertools
import json
import pathlib
import random
import sys
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from golden import TRACES  # noqa: E402
from tool_case import ToolCase, main  # noqa: E402

BYTES = {"float": 4, "c10::Half": 2, "c10::BFloat16": 2, "double": 8, "long int": 8, "bool": 1}


def elements(sizes):
    return sum(1 for _ in itertools.product(*map(range, sizes)))


def stored(sizes, strides=None):
    """How many addresses the elements have."""
    if strides is None:
        return elements(sizes)
    return len({sum(i * s for i, s in zip(index, strides))
                for index in itertools.product(*map(range, sizes))})


def positions(size, kernel, stride, padding, dilation):
    """Where a filter begins, as long as all of it is on the padded input."""
    starts = []
    at = -padding
    while at + dilation * (kernel - 1) < size + padding:
        starts.append(at)
        at += stride
    return starts


class Call:
    """An operator as a trace has it, and what is expected of it."""

    def __init__(self, name, flops, size, inputs):
        self.name, self.flops, self.bytes = name, flops, size
        self.inputs = inputs  # (sizes, type, concrete, strides)

    def args(self):
        return {"Input Dims": [list(i[0]) for i in self.inputs],
                "Input type": [i[1] for i in self.inputs],
                "Concrete Inputs": [i[2] for i in self.inputs],
                "Input Strides": [list(i[3]) if i[3] else [] for i in self.inputs]}


def tensor(sizes, kind, strides=None):
    if strides is None:
        strides, step = [], 1
        for size in reversed(sizes):
            strides.insert(0, step)
            step *= size
    return (sizes, kind, "", strides)


def value(text):
    return ([], "Scalar", text, None)


def product(rng):
    batch, m, n, k = rng.randint(1, 3), rng.randint(1, 6), rng.randint(1, 6), rng.randint(1, 6)
    flops = 0
    for _ in itertools.product(range(batch), range(m), range(n)):
        for _ in range(k):
            flops += 1  # multiply
            flops += 1  # add
    strides = [0, k, 1] if rng.random() < 0.5 else [m * k, k, 1]
    size = 2 * (stored([batch, m, k], strides) + elements([batch, k, n]) + elements([batch, m, n]))
    return Call("aten::bmm", flops, size, [tensor([batch, m, k], "c10::Half", strides),
                                           tensor([batch, k, n], "c10::Half")])


def addmm(rng):
    m, n, k = rng.randint(1, 6), rng.randint(1, 6), rng.randint(1, 6)
    flops = sum(2 for _ in itertools.product(range(m), range(n), range(k)))
    size = 4 * (n + m * k + k * n + m * n)
    return Call("aten::addmm", flops, size, [tensor([n], "float"), tensor([m, k], "float"),
                                             tensor([k, n], "float"), value("1"), value("1")])


def convolution(rng, gradients=None):
    dimensions = rng.randint(1, 3)
    groups = rng.randint(1, 2)
    batch, channels, filters = rng.randint(1, 2), groups * rng.randint(1, 2), groups * rng.randint(1, 2)
    stride = [rng.randint(1, 2) for _ in range(dimensions)]
    padding = [rng.randint(0, 1) for _ in range(dimensions)]
    dilation = [rng.randint(1, 2) for _ in range(dimensions)]
    kernel = [rng.randint(1, 3) for _ in range(dimensions)]
    size = [rng.randint(5, 6) for _ in range(dimensions)]
    out = [len(positions(*one)) for one in zip(size, kernel, stride, padding, dilation)]
    taps = [batch, filters, *out, channels // groups, *kernel]
    flops = sum(2 for _ in itertools.product(*map(range, taps)))
    x, w, y = [batch, channels, *size], [filters, channels // groups, *kernel], [batch, filters, *out]
    values = [value(str(stride)), value(str(padding)), value(str(dilation)), value("False"),
              value(str([0] * dimensions)), value(str(groups))]
    if gradients is None:
        moved = 4 * (elements(x) + elements(w) + elements(y))
        return Call("aten::convolution", flops, moved,
                    [tensor(x, "float"), tensor(w, "float"), ([], "", "", None), *values])
    moved = sum(elements(x) + elements(w) + elements(y) for wanted in gradients[:2] if wanted)
    moved += elements(y) + filters if gradients[2] else 0
    return Call("aten::convolution_backward", flops * sum(gradients[:2]), 4 * moved,
                [tensor(y, "float"), tensor(x, "float"), tensor(w, "float"),
                 value(str([filters])), *values, value(str(gradients))])


def transposed_convolution(rng):
    batch, channels, filters = rng.randint(1, 2), rng.randint(1, 3), rng.randint(1, 3)
    stride, padding, size, kernel = rng.randint(1, 3), rng.randint(0, 1), rng.randint(3, 5), 3
    # Each element of the input is spread over the result; what falls off the edges is padding.
    reached = set()
    flops = 0
    for _ in itertools.product(range(batch), range(channels), range(filters)):
        for at in range(size):
            for tap in range(kernel):
                flops += 2
                reached.add(at * stride + tap)
    length = max(reached) + 1 - 2 * padding
    moved = 4 * (batch * channels * size + channels * filters * kernel + batch * filters * length)
    return Call("aten::convolution", flops, moved,
                [tensor([batch, channels, size], "float"),
                 tensor([channels, filters, kernel], "float"), ([], "", "", None),
                 value(f"[{stride}]"), value(f"[{padding}]"), value("[1]"), value("True"),
                 value("[0]"), value("1")])


def attention(rng):
    batch, heads, queries, keys, size = 2, 2, rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 5)
    causal = rng.random() < 0.5
    flops = 0
    for _, _, query, key in itertools.product(range(batch), range(heads), range(queries),
                                              range(keys)):
        if causal and key > query:
            continue
        for _ in range(size):
            flops += 2  # the score
        for _ in range(size):
            flops += 2  # the weighted value
    moved = 2 * (2 * elements([batch, heads, queries, size]) +
                 2 * elements([batch, heads, keys, size]))
    q, k = [batch, heads, queries, size], [batch, heads, keys, size]
    return Call("aten::_scaled_dot_product_flash_attention", flops, moved,
                [tensor(q, "c10::BFloat16"), tensor(k, "c10::BFloat16"),
                 tensor(k, "c10::BFloat16"), value("0."), value(str(causal))])


def layer_norm(rng):
    rows, columns = rng.randint(1, 4), rng.randint(2, 9)
    flops = 0
    for _ in range(rows):
        for _ in range(columns):
            flops += 1  # sum for the mean
        for _ in range(columns):
            flops += 3  # difference, square, sum for the variance
        for _ in range(columns):
            flops += 2  # difference, by the deviation
            flops += 2  # weight, bias
    moved = 4 * (2 * rows * columns + 2 * columns)
    return Call("aten::native_layer_norm", flops, moved,
                [tensor([rows, columns], "float"), value(f"[{columns}]"),
                 tensor([columns], "float"), tensor([columns], "float"), value("1e-05")])


def addition(rng):
    rows, columns = rng.randint(1, 5), rng.randint(1, 5)
    flops = sum(1 for _ in itertools.product(range(rows), range(columns)))
    other = rng.choice([[columns], [rows, 1], [rows, columns], [1]])
    moved = 4 * (2 * rows * columns + elements(other))
    return Call("aten::add", flops, moved,
                [tensor([rows, columns], "float"), tensor(other, "float"), value("1")])


def reduction(rng):
    sizes = [rng.randint(1, 5) for _ in range(3)]
    over = rng.randrange(3)
    results = {tuple(i for at, i in enumerate(index) if at != over)
               for index in itertools.product(*map(range, sizes))}
    flops = sum(1 for _ in itertools.product(*map(range, sizes)))
    return Call("aten::sum", flops, 4 * (elements(sizes) + len(results)),
                [tensor(sizes, "float"), value(f"[{over}]"), value("False"), value("")])


MAKERS = [product, addmm, convolution, transposed_convolution, attention, layer_norm, addition,
          reduction, lambda rng: convolution(rng, [True, False, True]),
          lambda rng: convolution(rng, [True, True, False])]


def trace_of(calls, rng):
    """A trace in which each call launches one to three kernels. Returns it and the kernels' ns."""
    events, durations, at, launches = [], [], 0, 0
    for call in calls:
        events.append({"ph": "X", "cat": "cpu_op", "name": call.name, "pid": 1, "tid": 1, "ts": at,
                       "dur": 10, "args": call.args()})
        total = 0
        for i in range(rng.randint(1, 3)):
            launches += 1
            length = rng.randint(1, 5000)
            total += length
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
                           "tid": 1, "ts": at + 1 + 2 * i, "dur": 1,
                           "args": {"correlation": launches}})
            events.append({"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7,
                           "ts": at + 20 + 6 * i, "dur": length / 1000,
                           "args": {"device": 0, "stream": 7, "correlation": launches}})
        durations.append(total)
        at += 50
    return {"schemaVersion": 1, "cupti_version": 18,
            "deviceProperties": [{"id": 0, "name": "AMD Instinct MI210"}],
            "traceEvents": events}, durations


class Test(ToolCase):
    def write(self, trace):
        path = self.folder / "t.json"
        path.write_text(json.dumps(trace))
        return path

    def both_forms(self, path):
        imported = self.folder / "imported.rpd"
        self.run_sonde("import", path, "-o", imported)
        return path, imported

    def test_counted_one_by_one(self):
        rng = random.Random(20)
        calls = [maker(rng) for maker in MAKERS for _ in range(12)]
        trace, durations = trace_of(calls, rng)
        path = self.write(trace)
        expected = {}
        for call, ns in zip(calls, durations):
            row = expected.setdefault((call.name, call.flops, call.bytes), [0, 0])
            row[0] += 1
            row[1] += ns
        for form in self.both_forms(path):
            answer = self.ask("perf", form)
            found = {}
            for row in answer["perf"]:
                key = (row["operator"], row["flops"] // row["calls"],
                       row["model_bytes"] // row["calls"])
                one = found.setdefault(key, [0, 0])
                one[0] += row["calls"]
                one[1] += row["gpu_ns"]
                self.assertAlmostEqual(row["tflop_per_s"] * row["gpu_ns"] * 1000, row["flops"],
                                       delta=1e-6 * row["flops"] + 1e-6)
                self.assertAlmostEqual(row["gb_per_s"] * row["gpu_ns"], row["model_bytes"],
                                       delta=1e-6 * row["model_bytes"])
                self.assertAlmostEqual(row["bandwidth_percentage"], row["gb_per_s"] / 16.384,
                                       delta=1e-6 * row["gb_per_s"])
            self.assertEqual(found, expected)
            self.assertEqual(answer["not_modelled"], [])
            self.assertEqual(sum(row["gpu_ns"] for row in answer["kinds"]), sum(durations))

    def test_every_form(self):
        rng = random.Random(3)
        trace, _ = trace_of([product(rng)], rng)
        path = self.write(trace)
        for form in ("text", "csv", "json", "markdown", "html"):
            self.assertIn("aten::bmm", self.run_sonde("perf", path, "--format", form).stdout)
        page = self.run_sonde("perf", path, "--format", "html").stdout
        self.assertIn("<svg", page)
        self.assertIn("Intensity (FLOP/B)", page)
        self.assertIn("MI210 fp16: 181 TFLOP/s", page)
        self.assertIn("2*M*N*K", self.run_sonde("perf", "--explain").stdout.replace("\n", " "))

    def test_peaks_of_a_file(self):
        rng = random.Random(4)
        trace, durations = trace_of([addmm(rng)], rng)
        path = self.write(trace)
        (self.folder / "peaks").write_text('[[gpu]]\nname = "mine"\nmatch = "MI210"\n'
                                           "bandwidth = 100\nfp32 = 1\n")
        row = self.ask("perf", path, "--peaks", self.folder / "peaks")["perf"][0]
        least = max(row["flops"] / 1000, row["model_bytes"] / 100)
        self.assertAlmostEqual(row["roofline_percentage"], 100 * least / durations[0], places=6)

    def test_counters(self):
        rng = random.Random(5)
        head = ("Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,"
                "accum_vgpr,sgpr,wave_size,sig,obj,SQ_WAVES,FETCH_SIZE,DispatchNs,BeginNs,EndNs,"
                "CompleteNs")
        lines, sums, at = [head], {}, 1000
        for index in range(40):
            name, waves, fetched = rng.choice("abc"), rng.randint(0, 999), rng.randint(0, 9999) / 4
            length = rng.randint(1, 500)
            lines.append(f'{index},"{name}",0,0,{index},1,1,64,64,0,0,8,0,16,64,0x0,0x0,{waves},'
                         f"{fetched},{at},{at},{at + length},{at + length}")
            at += 1000
            for counter, number in (("SQ_WAVES", waves), ("FETCH_SIZE", fetched)):
                row = sums.setdefault((name, counter), [0, 0, 0])
                row[0] += 1
                row[1] += number
                row[2] += length
        path = self.folder / "c.csv"
        path.write_text("\n".join(lines) + "\n")
        for form in self.both_forms(path):
            answer = self.ask("counters", form)
            found = {(row["name"], row["counter"]): [row["ops"], row["sum"], row["gpu_ns"]]
                     for row in answer["counters"]}
            self.assertEqual(found, sums)
            for row in answer["counters"]:
                self.assertAlmostEqual(row["per_s"], row["sum"] * 1e9 / row["gpu_ns"],
                                       delta=1e-6 * row["per_s"])
            self.assertEqual({row["counter"]: row["sum"] for row in answer["totals"]},
                             {counter: sum(s[1] for key, s in sums.items() if key[1] == counter)
                              for counter in ("SQ_WAVES", "FETCH_SIZE")})

    def test_real_traces(self):
        names = ["h100_bert_small", "h100_vit_nsfw", "mi300_bert_small", "mi300_qwen_0.5b",
                 "mi250_minitoy", "mi300_resnet_act_checkpoint", "diff_control"]
        if not TRACES.is_dir():
            self.skipTest(f"no real traces at {TRACES}")
        for name in names:
            with self.subTest(name), gzip.open(TRACES / f"{name}.json.gz", "rt") as file:
                events = json.load(file, parse_float=Decimal)["traceEvents"]
                kernels = [e for e in events if e.get("cat") == "kernel" and e.get("ph") == "X"]
                answer = self.ask("perf", TRACES / f"{name}.json.gz")
                self.assertEqual(sum(row["kernels"] for row in answer["kinds"]), len(kernels))
                total = sum(int(e["dur"] * 1000) for e in kernels)
                self.assertEqual(sum(row["gpu_ns"] for row in answer["kinds"]), total)
                flops, ns = products_of(events, kernels)
                gemm = [row for row in answer["perf"] if row["operator"] in PRODUCTS]
                self.assertEqual(sum(row["flops"] for row in gemm), flops)
                self.assertEqual(sum(row["gpu_ns"] for row in gemm), ns)


PRODUCTS = {"aten::mm": 0, "aten::addmm": 1, "aten::bmm": 0, "aten::baddbmm": 1}


def products_of(events, kernels):
    """FLOPs of the matrix products whose innermost operator launched kernels, and their time."""
    launches = {e["args"]["correlation"]: e for e in events
                if e.get("cat") in ("cuda_runtime", "cuda_driver")
                and "correlation" in e.get("args", {})}
    by_thread = {}
    for event in events:
        if event.get("cat") == "cpu_op" and event.get("ph") == "X":
            by_thread.setdefault((event["pid"], event["tid"]), []).append(event)
    for thread, calls in by_thread.items():
        calls += [e for e in launches.values() if (e["pid"], e["tid"]) == thread]
        calls.sort(key=lambda e: (e["ts"], -e["dur"], e.get("cat") != "cpu_op"))
    around = {}  # the innermost operator by the correlation of a launch
    for calls in by_thread.values():
        stack = []
        for event in calls:
            while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
                stack.pop()
            if event.get("cat") == "cpu_op":
                stack.append(event)
            elif stack:
                around[event["args"]["correlation"]] = stack[-1]
    found, ns = {}, 0
    for kernel in kernels:
        inside = around.get(kernel["args"].get("correlation"))
        if inside is None or inside["name"] not in PRODUCTS:
            continue
        found[id(inside)] = inside
        ns += int(kernel["dur"] * 1000)
    flops = 0
    for call in found.values():
        first = PRODUCTS[call["name"]]
        a, b = call["args"]["Input Dims"][first:first + 2]
        batch = a[0] if len(a) == 3 else 1
        flops += 2 * batch * a[-2] * a[-1] * b[-1]
    return flops, ns


if __name__ == "__main__":
    main()
