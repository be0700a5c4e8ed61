#!/usr/bin/python3
"""What a trace should not hold, to every importer that reads text: names of every kind, invalid
UTF-8, times beyond 2^53 ns, operations without length and overlapping ones, durations below 0, and
compressed files that break off. The good part must come back exactly, and the bad be counted.
(perfetto_test.py, rocprof_test.py and xplane_test.py do the same for theirs.)

    hostile_test.py --sonde PATH [unittest options]"""
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import import_case  # noqa: E402

NAMES = ['say "hi", twice', "x" * 10_000, "it's; a, b", "é漢🙂", "back\\slash", "line\nbreak"]
BAD, SHOWN = "bad \udcff byte", "bad � byte"  # a byte that is not UTF-8, and how it is shown
LATE = (1 << 53) + 12_345_000 - (1 << 53) % 1000  # whole microseconds


def kernels(names=None):
    """(name, start, end): of no length, then overlapping more and more, and one that ends early."""
    names = NAMES + [BAD] if names is None else names
    return [(name, LATE + i * 10_000, LATE + i * 10_000 + i * 25_000) for i, name in enumerate(names)]


def encoded(text):
    return text.encode("utf-8", "surrogateescape")


def kineto(rows):
    def us(ns):
        return f"{ns // 1000}.{ns % 1000:03}" if ns >= 0 else f"-{-ns // 1000}.{-ns % 1000:03}"
    events = [f'{{"ph":"X","cat":"kernel","name":{json.dumps(name, ensure_ascii=False)},"pid":0,"tid":3,'
              f'"ts":{us(start)},"dur":{us(end - start)},"args":{{"device":0,"stream":3}}}}'
              for name, start, end in rows]
    return '{"traceEvents":[\n' + ",\n".join(events) + "\n]}"


def rocprofv3_json(rows):
    names = list(dict.fromkeys(name for name, _, _ in rows))
    symbols = [{"kernel_id": 0}] + [{"kernel_id": i + 1, "kernel_name": name}
                                    for i, name in enumerate(names)]
    records = [{"kind": 1, "operation": 0, "thread_id": 8, "correlation_id": {"internal": i},
                "start_timestamp": start, "end_timestamp": end,
                "dispatch_info": {"agent_id": {"handle": 4}, "queue_id": {"handle": 3},
                                  "kernel_id": names.index(name) + 1, "dispatch_id": i}}
               for i, (name, start, end) in enumerate(rows)]
    return json.dumps({"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 7}, "agents": [{"id": {"handle": 4}, "type": 2}],
        "strings": {"buffer_records": [{"kind": "NONE"}, {"kind": "KERNEL_DISPATCH"}]},
        "kernel_symbols": symbols, "buffer_records": {"kernel_dispatch": records}}]},
        ensure_ascii=False)


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def rocprofv3_csv(rows):
    return "Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Name,Correlation_Id," \
        "Start_Timestamp,End_Timestamp\n" + "".join(
            f'"KERNEL_DISPATCH","Agent 0",3,8,{i},{quoted(name)},{i},{start},{end}\n'
            for i, (name, start, end) in enumerate(rows))


def rocprof_csv(rows):
    return "Index,KernelName,gpu-id,queue-id,pid,tid,grd,wgr,BeginNs,EndNs\n" + "".join(
        f"{i},{quoted(name)},0,3,7,8,64,64,{start},{end}\n"
        for i, (name, start, end) in enumerate(rows))


FORMATS = {"t.json": kineto, "results.json": rocprofv3_json, "t_kernel_trace.csv": rocprofv3_csv,
           "t.csv": rocprof_csv}


class Hostile(import_case.ImportCase):
    def kernels(self):
        return self.rows("""SELECT n.string, o.start, o.end FROM rocpd_op o
            JOIN rocpd_string n ON n.id = o.description_id ORDER BY o.start, o.id""")

    def test_names_and_times(self):
        rows = kernels()
        for name, encode in FORMATS.items():
            with self.subTest(name):
                early = ("ends early", LATE + 500_000, LATE + 499_000)
                kept = [early] if name == "t.json" else []  # as it is, and zero long in all figures
                self.load(encoded(encode(rows + [early])), name, skipped=1 - len(kept))
                self.assertRegex(self.said, "1 .*end before they start")
                self.assertEqual(self.kernels(), [(SHOWN if kernel == BAD else kernel, start, end)
                                                  for kernel, start, end in rows + kept])

    def test_compressed_files_that_break_off(self):
        rows = [(f"kernel {i * 7919 % 10_007}", LATE + i * 1000, LATE + i * 1000 + 7)
                for i in range(5000)]
        for name, encode in FORMATS.items():
            with self.subTest(name):
                packed = gzip.compress(encode(rows).encode())
                path = self.folder / (name + ".gz")
                path.write_bytes(packed[:len(packed) * 3 // 4])
                self.load_file(path, skipped=None)
                self.assertIn("the compressed file is cut off", self.said)
                got = self.kernels()
                self.assertGreater(len(got), 1000)
                if name == "t_kernel_trace.csv" or name == "t.csv":  # the last row may be cut
                    got = got[:-1]
                self.assertEqual(got, rows[:len(got)])

    def test_log(self):
        """Its times are microseconds, and its lines cannot hold a line end."""
        us = LATE // 1000
        names = [name for name in NAMES if "\n" not in name] + [BAD]
        head = ":3:hip_module.cpp           :501 : {:010} us: 7: [tid:0x8] "
        lines = []
        for i, name in enumerate(names):
            start = us + i * 10
            lines += [head.format(start) + f"hipLaunchKernel ( {name} )",
                      head.format(start + 1) + "ShaderName : " + name,
                      head.format(start + 2) + "HWq=0x7f2, Dispatch Header = 0xb02 (type=2), "
                      "grid=[64, 1, 1], workgroup=[64, 1, 1]",
                      head.format(start + 5) + "hipLaunchKernel: Returned hipSuccess : "]
        self.load(encoded("\n".join(lines) + "\n"), "hip.log")
        self.assertEqual(self.kernels(), [
            (SHOWN if name == BAD else name, (us + i * 10 + 2) * 1000, (us + i * 10 + 2) * 1000)
            for i, name in enumerate(names)])
        self.assertEqual([row[2:] for row in self.apis()],
                         [((us + i * 10) * 1000, (us + i * 10 + 5) * 1000, "hipLaunchKernel")
                          for i in range(len(names))])


if __name__ == "__main__":
    import_case.main()
