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
