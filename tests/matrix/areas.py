"""What is run in each root: data. Used by matrix.py.

An area is a line of shell in the checkout. Those with tests run ctest, whose junit file says what
passed; of the others the exit status counts.
"""

import re
from dataclasses import dataclass

CTEST = ("ctest --test-dir build -j2 --timeout 600 --output-on-failure --no-label-summary"
         " --no-tests=error --test-output-size-passed 1000000 --output-junit matrix-{name}.xml -R '{tests}'")


@dataclass(frozen=True)
class Area:
    name: str
    what: str
    limit_s: int
    tests: str = ""   # a regular expression of ctest's names
    script: str = ""

    def command(self):
        return self.script or CTEST.format(name=self.name, tests=self.tests)

    def junit(self):
        return f"build/matrix-{self.name}.xml" if self.tests else None


PACKAGES = Area("packages", "Debian packages of packages.txt", 7200,
                script="./dev packages build run rocm torch test programs && apt-get clean")
BUILD = Area("build", "everything, as ./dev test builds it", 14400, script="./dev build all")
AREAS = (
    PACKAGES,
    BUILD,
    Area("units", "unit tests of the tool, its agent and backends, and of softgpu; what libraries need", 900,
         tests=r"^(unit|softgpu\.unit)\.|^support\.check_libraries$"),
    Area("kernels", "kernels computed from host code and from machine code; softgpu's own log", 1200,
         tests=r"^softgpu\.(kernels|run|devices|hip|pc_sampling)"),
    Area("libraries", "rocRAND, rocSPARSE and rocPRIM, computed from their machine code", 900,
         tests=r"^softgpu\.(libraries|instructions)"),
    Area("debugger", "waves as AMD's debugger library and trap handler see them", 900,
         tests=r"^softgpu\.(dbgapi|debugger|traps|waves)$|^e2e\.debug_card$"),
    Area("hsa", "programs of HSA against the GPU's log and their own counts", 600,
         tests=r"^hsa\.oracle\.|^e2e\.hsa$"),
    Area("hip", "programs of HIP against the GPU's log, HIP's own log and its headers", 900,
         tests=r"^hip\."),
    Area("faults", "crash reports, checks of memory, counters, and damaged files", 1200,
         tests=r"^e2e\.(check|debug|debug_places|hostile|profile)$"),
    Area("record", "end-to-end tests of HIP, and what rocminfo and rocm-smi say of softgpu", 1200,
         tests=r"^(e2e\.hip|softgpu\.tools|e2e\.rocm_tables)$"),
    Area("opencl", "the OpenCL backend and its example", 600, tests=r"^(opencl|e2e\.examples)$"),
    Area("python", "stacks of Python, and its tracing", 600,
         tests=r"^(cpu\.python|e2e\.python|e2e\.python_trace)$"),
    Area("torch", "PyTorch programs, recorded and not", 900, tests=r"^e2e\.torch$"),
    Area("torch-jobs", "torch.compile, and two ranks with gloo", 1200,
         script="/usr/bin/python3 tests/e2e/run.py tests/e2e/soak/torch.toml"),
    Area("exchange", "import and export of other tools' formats", 900,
         tests=r"^(e2e\.(import|import_rocm|exchange)|export\..*|import\.[a-z_]*)$"),
    Area("programs", "programs of Debian, recorded and not", 1800,
         script="/usr/bin/python3 tests/e2e/run.py tests/e2e/soak/programs.toml"),
    Area("demo", "./dev demo", 900, script="./dev demo"),
)


def named(pattern):
    """The areas that a pattern of --areas names; packages and build are always among them."""
    found = [area for area in AREAS if re.search(pattern, area.name)]
    return [PACKAGES, BUILD] + [area for area in found if area not in (PACKAGES, BUILD)]
