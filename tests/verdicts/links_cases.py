"""Which call launched which operation, and of which process it is."""
import json
import os

from trace import Trace
from verdict import Verdict


def joined(*traces, tracks=None):
    """The traces of several processes in one file; `tracks` names the GPUs' pids of each."""
    whole = Trace()
    for number, trace in enumerate(traces):
        for event in trace.events:
            event = {**event, "args": dict(event["args"])}
            if tracks is not None and event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
                event["pid"] = tracks[number]
            whole.events.append(event)
    return whole


class Launchers(Verdict):
    def launchers(self, trace):
        """By kernel: the pids that launched it, as the .rpd of this trace says."""
        path = self.folder / "trace.rpd"
        if not str(trace).endswith(".rpd"):
            self.run_sonde("import", *self.write(trace), "-o", path)
        else:
            path = trace
        rows = self.ask("query", path, options=(
            "SELECT s.string AS kernel, a.pid AS pid, count(*) AS count FROM rocpd_op o "
            "JOIN rocpd_api_ops l ON l.op_id = o.id JOIN rocpd_api a ON a.id = l.api_id "
            "JOIN rocpd_string s ON s.id = o.description_id GROUP BY 1, 2 ORDER BY 1, 2",))
        path.unlink()
        found = {}
        for row in rows["rows"]:
            found.setdefault(row["kernel"], {})[row["pid"]] = row["count"]
        return found


class Links(Launchers):
    def process(self, pid, device, late, kernels=6):
        trace = Trace(process=pid)
        for i in range(kernels):
            trace.kernel(f"k_of_{pid}", at=late + 100 * i + 20, lasts=10, launched=late + 100 * i, device=device)
        return trace

    def test_two_ranks_named_by_their_tracks(self):
        """Two processes with the same numbers, 5 us apart; the GPUs are called after their processes."""
        both = joined(self.process(100, 0, 0), self.process(200, 1, 5), tracks=["GPU of 100", "GPU of 200"])
        self.assertEqual(self.launchers(both), {"k_of_100": {100: 6}, "k_of_200": {200: 6}})

    def test_one_gpu_and_numbers_of_their_own(self):
        """Two processes on one GPU, in turns; the numbers of the second go on from the first's."""
        second = Trace(process=200)
        second.correlation = 6
        for i in range(6):
            second.kernel("k_of_200", at=100 * i + 60, lasts=10, launched=100 * i + 50)
        both = joined(self.process(100, 0, 0), second, tracks=["0", "0"])
        self.assertEqual(self.launchers(both), {"k_of_100": {100: 6}, "k_of_200": {200: 6}})

    def test_the_names_the_other_way_round(self):
        """The same with the devices swapped: the names decide, not the order."""
        both = joined(self.process(100, 1, 0), self.process(200, 0, 5), tracks=["GPU of 100", "GPU of 200"])
        self.assertEqual(self.launchers(both), {"k_of_100": {100: 6}, "k_of_200": {200: 6}})

    def test_prefixes_of_ranks(self):
        """As servers merge them: "[TP00] 100" and "[TP00] 0"."""
        ranks = []
        for rank, pid in enumerate((100, 200)):
            trace = self.process(pid, 0, 3 * rank)
            for event in trace.events:
                event["pid"] = f"[TP0{rank}] {event['pid']}"
            ranks.append(trace)
        found = self.launchers(joined(ranks[1], ranks[0]))
        self.assertEqual([list(found[name].values()) for name in ("k_of_100", "k_of_200")], [[6], [6]])
        self.assertNotEqual(list(found["k_of_100"]), list(found["k_of_200"]))

    def test_times_tell(self):
        """Both call number 1; the second process calls a second later, and no kernel begins before its
        call."""
        both = joined(self.process(100, 0, 0, 1), self.process(200, 1, 1000, 1))
        self.assertEqual(self.launchers(both), {"k_of_100": {100: 1}, "k_of_200": {200: 1}})

    def test_operations_before_their_calls(self):
        """The file lists all kernels first, those of the second process in front."""
        both = joined(self.process(100, 1, 0), self.process(200, 0, 37))
        both.events.sort(key=lambda event: (event["cat"] != "kernel", event["name"] != "k_of_200"))
        self.assertEqual(self.launchers(both), {"k_of_100": {100: 6}, "k_of_200": {200: 6}})

    def test_one_gpu_of_two_processes(self):
        """Both use device 0, and the file draws it once: each number comes twice there."""
        both = joined(self.process(100, 0, 0), self.process(200, 0, 30))
        self.assertEqual(self.launchers(both), {"k_of_100": {100: 6}, "k_of_200": {200: 6}})

    def test_numbers_that_only_the_other_has(self):
        """Process 200 launched number 3 before the recording began; that of process 100 is another's."""
        second = self.process(200, 1, 35)
        second.events = [event for event in second.events
                         if event["cat"] == "kernel" or event["args"]["correlation"] != 3]
        both = joined(self.process(100, 0, 0), second)
        self.assertEqual(self.launchers(both), {"k_of_100": {100: 6}, "k_of_200": {200: 5}})

    def test_merged_and_exported(self):
        """Two files with equal pids, GPUs and numbers, merged, and exported and read again."""
        files = self.write(self.process(100, 0, 0), self.process(100, 0, 5))
        job = self.folder / "job.rpd"
        self.run_sonde("merge", *files, "-o", job)
        exported = self.folder / "job.json"
        self.run_sonde("export", job, "-o", exported)
        self.assertEqual(self.launchers(job), {"k_of_100": {100: 6, 10_000_100: 6}})
        again = self.launchers(str(exported))
        self.assertEqual(sorted(again["k_of_100"].values()), [6, 6])

    def test_two_ranks_exported(self):
        """A file of two processes, imported, exported and read again."""
        both = joined(self.process(100, 0, 0), self.process(200, 1, 5), tracks=["GPU of 100", "GPU of 200"])
        path, exported = self.folder / "both.rpd", self.folder / "both_again.json"
        self.run_sonde("import", *self.write(both), "-o", path)
        self.run_sonde("export", path, "-o", exported)
        self.assertEqual(self.launchers(str(exported)), {"k_of_100": {100: 6}, "k_of_200": {200: 6}})

    def test_graphs_are_not_two_processes(self):
        """One process; one call launches six kernels as a graph."""
        trace = Trace(process=100)
        trace.call("cudaGraphLaunch", 0, 5, correlation=1)
        for i in range(6):
            trace.kernel("node", at=20 + 10 * i, lasts=9, launched=None)["args"]["correlation"] = 1
        self.assertEqual(self.launchers(trace), {"node": {100: 6}})

    def test_devices_beyond_32_bits(self):
        """A kernel each on device 0 and device 4294967296, at different times: two GPUs."""
        trace = Trace()
        trace.kernel("a", at=10, lasts=10, device=0)
        trace.kernel("b", at=50, lasts=30, device=4294967296)
        path = self.folder / "wide.rpd"
        self.run_sonde("import", *self.write(trace), "-o", path)
        for file in (trace, path):
            with self.subTest(str(file)):
                self.assertEqual([row["gpu_id"] for row in self.ask("breakdown", file)["breakdown"]],
                                 [0, 4294967296])
                found = self.ask("kernels", file, options=("--gpu", "4294967296"))["kernels"]
                self.assertEqual([row["name"] for row in found], ["b"])
                self.assertEqual([row["gpu_id"] for row in self.ask("ranks", file)["ranks"]],
                                 [0, 4294967296])

    def test_ranks_that_share_a_number_of_a_gpu(self):
        """Two processes in one file, both with device 0: a row each, with its own time."""
        both = joined(self.process(100, 0, 0, 6), self.process(200, 0, 40, 3))
        rows = self.ask("ranks", both)["ranks"]
        self.assertEqual(sorted((row["gpu_id"], row["ops"], row["compute_ns"]) for row in rows),
                         [(0, 3, 30_000), (0, 6, 60_000)])


class Communication(Verdict):
    FUSED = ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<("
             "flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, true>(...)")

    def exposed(self, trace, **more):
        row, = self.ask("breakdown", trace, **more)["breakdown"]
        return row["exposed_communication_ns"], row["compute_ns"]

    def test_fused_all_reduce(self):
        """A fused all-reduce of FlashInfer for 500 us, then a product for as long."""
        trace = Trace()
        trace.kernel(self.FUSED, at=10, lasts=500)
        trace.kernel("nvjet_gemm", at=600, lasts=500)
        self.assertEqual(self.exposed(trace), (500_000, 500_000))

    def test_a_reduction_within_one_gpu(self):
        """Names that sound alike and do not communicate."""
        trace = Trace()
        for i, name in enumerate(("void blockAllReduceSoftmax<float>(float*)", "reduce_kernel",
                                  "void at::native::elementwise_kernel<AllReduceFunctor>(int)")):
            trace.kernel(name, at=10 + 1000 * i, lasts=100)
        self.assertEqual(self.exposed(trace), (0, 300_000))

    def test_names_of_the_user(self):
        """A kernel that only the user knows to communicate."""
        trace = Trace()
        trace.kernel("halo_swap<3>", at=10, lasts=70)
        self.assertEqual(self.exposed(trace), (0, 70_000))
        words = self.folder / "words.txt"
        words.write_text("own halo_swap\n")
        self.assertEqual(self.exposed_with(words, trace), (70_000, 0))

    def exposed_with(self, words, trace):
        os.environ["SONDE_COMMUNICATION"] = str(words)
        self.addCleanup(os.environ.pop, "SONDE_COMMUNICATION", None)
        return self.exposed(trace)
