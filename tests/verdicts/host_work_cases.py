"""Which kind of work the host did while GPUs were idle, told by the names of calls, ranges and frames."""
from trace import Trace
from verdict import Verdict


class Compiling(Verdict):
    def loop(self, *work):
        """20 kernels of 1 ms; in each of the 5 ms between them the host is in all of these at once, the first
        around the others: (kind, name)."""
        trace = Trace()
        for i in range(20):
            for depth, (kind, name) in enumerate(work):
                getattr(trace, kind)(name, at=i * 6010 + 10 * depth, lasts=5000 - 20 * depth)
            trace.kernel("triton_poi_fused_0", at=i * 6010 + 5005, lasts=1000)
        return trace

    def test_compilers_of_torch_and_triton(self):
        """Shapes change, and torch.compile or Triton compile in the loop. What they call, such as the assembler that
        they wait for, is part of it."""
        inductor = ("python", "/opt/venv/lib/python3.11/site-packages/torch/_inductor/compile_fx.py(500): compile_fx")
        triton = ("python", "triton/compiler/compiler.py(226): compile")
        assembler = ("python", "<method 'poll' of 'select.poll' objects>")
        for work in ([("range", "inductor_compile (dynamo_timed)")],
                     [("range", "Torch-Compiled Region: 0/1"), inductor],
                     [("python", "torch/_dynamo/convert_frame.py(1000): _compile"), inductor],
                     [("python", "triton/runtime/jit.py(600): run"), triton, assembler]):
            with self.subTest(work):
                trace = self.loop(*work)
                self.assertEqual(list(self.findings(trace))[0], "code-loading")
                self.assertFalse({"host-work", "host-blocked", "host-unknown"} & set(self.findings(trace)))
                evidence = self.ask("check", trace)["check_remarks"][0]
                self.assertIn("avoid new shapes in the loop", evidence)

    def test_what_runs_compiled_code_does_not_compile(self):
        """The same libraries' functions that launch kernels, and the program's own files of such names."""
        for kind, name, finding in (("range", "Torch-Compiled Region: 0/0", "host-unknown"),
                                    ("python", "triton/runtime/jit.py(600): run", "host-work"),
                                    ("python", "torch/_inductor/compile_fx.py(700): run", "host-work"),
                                    ("python", "mytorch/_inductor/compile_fx.py(5): compile_fx", "host-work"),
                                    ("python", "compiler.py(3): compile", "host-work")):
            with self.subTest(name):
                self.assert_first(finding, self.loop((kind, name)))
                self.assert_not_found("code-loading", self.loop((kind, name)))


class Operators(Verdict):
    def loop(self, operators, lasts, gap=30_000, within=1):
        """20 kernels of 10 ms, whose end the program awaits; then it is in operators of `lasts` us for `gap` us."""
        trace = Trace()
        for i in range(20):
            at = i * (gap + 10_100)
            trace.kernel("gemm", at + 10, 10_000, launched=at)
            trace.call("cudaStreamSynchronize", at + 5, 10_010)
            for number, begin in enumerate(range(0, gap, lasts)):
                name = operators[number % len(operators)]
                for depth in range(within):
                    trace.operator(name, at + 10_020 + begin + depth, lasts - 0.1 - 2 * depth)
        return trace

    def test_operators_on_the_host_are_no_launches(self):
        """30 ms of sorting on the CPU, 300 us a call, or of three operators of 100 us, or of such that call others."""
        for trace, evidence in (
                (self.loop(["aten::sort"], 300), "30.0 ms of it in aten::sort."),
                (self.loop(["aten::sort", "aten::index", "aten::cumsum"], 100),
                 "30.0 ms of it in aten::sort and similar calls"),
                (self.loop(["aten::softmax"], 300, within=3), "29.6 ms of it in aten::softmax.")):
            with self.subTest(evidence):
                self.assert_first("host-work", trace)
                self.assert_not_found("launch-bound", trace)
                told = self.ask("check", trace)["check_remarks"][0]
                self.assertIn(evidence, told)
                self.assertIn("may be on the CPU", told)

    def test_operators_that_only_prepare_launches(self):
        """3,000 views of 10 us; and 2 ms of 40 us each, which launch work that the file does not have."""
        for trace in (self.loop(["aten::view"], 10), self.loop(["aten::mul", "aten::add"], 40, gap=2000)):
            self.assertIn("launch-bound", self.findings(trace))
            self.assert_not_found("host-work", trace)

    def test_an_operator_that_makes_views(self):
        """It takes 30 ms, for 3,000 views of tensors of the GPU."""
        trace = self.loop(["aten::narrow"], 10)
        for i in range(20):
            trace.operator("aten::unflatten_dense_tensors", i * 40_100 + 10_019, 30_005)
        self.assertIn("launch-bound", self.findings(trace))
        self.assert_not_found("host-work", trace)

    def test_an_operator_that_launches_at_its_end(self):
        """Each of 50 steps is one operator, which needs 400 us until it launches 300 us of work."""
        trace = Trace()
        for i in range(50):
            trace.operator("aten::_foreach_add_", 1000 * i, 410)
            trace.kernel("multi_tensor", 1000 * i + 405, 300, launched=1000 * i + 400)
            trace.call("cudaStreamSynchronize", 1000 * i + 420, 290)
        self.assert_not_found("host-work", trace)
        self.assertIn("launch-bound", self.findings(trace))


class Allocating(Verdict):
    def loop(self, call="cudaMalloc", late=0, count=40):
        """40 kernels of 5 ms; before each the program is in the call for 4 ms, and then for `late` ms in nothing."""
        trace = Trace()
        for i in range(count):
            at = i * 1000 * (9 + late)
            trace.call(call, at, 4000)
            trace.kernel("gemm", at + 4005 + 1000 * late, 4990)
        return trace

    def test_allocations_in_the_loop_are_one_finding(self):
        """Those of the first half have the same cause, and so has a rest of the gap no second one."""
        found = self.findings(self.loop())
        self.assertEqual(found["allocations"]["cost_ns"], 39 * 4_000_000)
        self.assertNotIn("memory-calls", found)
        found = self.findings(self.loop(late=3))
        self.assertEqual(found["allocations"]["cost_ns"], 39 * 4_000_000)
        self.assertIn("launch-bound", found)
        self.assertNotIn("memory-calls", found)

    def test_allocations_of_the_warm_up_and_of_the_host(self):
        """Six calls are too few for a loop, and pinned memory is none of the device's: they are what fills a gap."""
        for trace in (self.loop(count=6), self.loop("cudaHostAlloc")):
            self.assertIn("memory-calls", self.findings(trace))
            self.assert_not_found("allocations", trace)
