"""What the cases of this folder share: a test case with a folder of its own that asks the tool."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from tool_case import ToolCase  # noqa: E402


class Verdict(ToolCase):
    """One test is one small trace whose right answer is known by construction."""

    def write(self, *traces):
        """The files of these traces, in order."""
        return [trace.write(self.folder / f"trace{i}{trace.suffix}")
                if hasattr(trace, "write") else str(trace) for i, trace in enumerate(traces)]

    def ask(self, verb, *traces, options=()):
        """The answer of `sonde VERB` to these traces (or paths) as JSON."""
        return super().ask(verb, *self.write(*traces), *options)

    def text(self, verb, *traces, options=()):
        """The same as a reader at a terminal sees it."""
        return self.run_sonde(verb, *self.write(*traces), *options).stdout

    # For check.

    def findings(self, *traces, options=()):
        """Findings by id, most expensive first."""
        return {row["finding"]: row for row in self.ask("check", *traces, options=options)["check"]}

    def assert_first(self, finding, *traces):
        found = list(self.findings(*traces))
        self.assertTrue(found, "nothing was found")
        self.assertEqual(found[0], finding, f"found {found}")

    def assert_not_found(self, finding, *traces):
        self.assertNotIn(finding, self.findings(*traces))
