#!/usr/bin/env python3
"""tools/hip_functions.py: finds nothing to add or to mend with the headers of HIP that are installed
(skipped where there are none), and finds what is made wrong in headers of this test's own."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools/hip_functions.py")
FUNCTIONS = "src/backends/rocm/hip/functions.inc"

RUNTIME = """#include <cstddef>
#include <cstdint>
enum hipError_t { hipSuccess };
enum hipMode { hipModeA };
struct dim3 { uint32_t x, y, z; };
struct hipExtent { size_t a, b, c; };
struct hipPitchedPtr { void* p; size_t a, b, c; };
struct hipThing { int a, b, c; };
typedef struct Stream_* hipStream_t;
"""
PROF = """enum hip_api_id_t {
  HIP_API_ID_NONE = 0,
  HIP_API_ID_hipMalloc = MALLOC_ID,
  HIP_API_ID_hipGetDevice = 78,
};
struct hip_api_data_t {
  union {
    struct {
      void** ptr;
      void* ptr__val;
      SIZE size;
    } hipMalloc;
    struct {
      int* deviceId;
      int deviceId__val;
    } hipGetDevice;
  } args;
};
"""
TRACE = """typedef hipError_t (*t_hipMalloc)(void** ptr, size_t size);
typedef const char* (*t_hipApiName)(uint32_t id);
typedef hipError_t (*t_hipArray3DCreate)(void** array, const void* pAllocateArray);
typedef hipError_t (*t_hipOfTomorrow)(hipStream_t* stream, const char* name, int* list,
                                      hipThing thing, hipMode mode, dim3 grid, float share_of_all);
struct HipDispatchTable {
  size_t size;
  t_hipApiName hipApiName_fn;
  t_hipFIRST hipFIRST_fn;
  t_hipSECOND hipSECOND_fn;
};
"""
ADDED = """X(0, 2, hipOfTomorrow, memory, +, 7,
  "stream:o name:s list:p thing:x12 mode:e grid:D share_of_all:f")
"""


def run(*arguments):
    done = subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Made:
    """Headers of a HIP 9.0 in a folder, and a copy of the file that they are compared with."""

    def __init__(self, folder, malloc_id="108", size="size_t", order=("Array3DCreate", "OfTomorrow")):
        self.folder = folder
        os.makedirs(os.path.join(folder, "hip/amd_detail"))
        self.functions = os.path.join(folder, FUNCTIONS)
        os.makedirs(os.path.dirname(self.functions))
        shutil.copy(os.path.join(ROOT, FUNCTIONS), self.functions)
        places = dict(zip(("FIRST", "SECOND"), order))
        trace = TRACE
        for word, name in places.items():
            trace = trace.replace(word, name)
        for path, text in (
                ("hip_version.h", "#define HIP_VERSION_MAJOR 9\n#define HIP_VERSION_MINOR 0\n"),
                ("hip_runtime_api.h", RUNTIME), ("amd_detail/hip_api_trace.hpp", trace),
                ("amd_detail/hip_prof_str.h",
                 PROF.replace("MALLOC_ID", malloc_id).replace("SIZE", size))):
            with open(os.path.join(folder, "hip", path), "w", encoding="utf-8") as file:
                file.write(text)

    def run(self, *arguments):
        return run("--include", self.folder, "--root", self.folder, *arguments)

    def read(self):
        with open(self.functions, encoding="utf-8") as file:
            return file.read()


def expect(condition, what, output):
    if not condition:
        print(f"FAILED: {what}\n{output}")
        sys.exit(1)


def made_headers(folder):
    wrong = {"id 108": {"malloc_id": "109"}, "types (p, z)": {"size": "int"},
             "place 1 of the table": {"order": ("OfTomorrow", "Array3DCreate")}}
    for number, (message, change) in enumerate(wrong.items()):
        made = Made(os.path.join(folder, str(number)), **change)
        before = made.read()
        for arguments in (["--check"], []):
            status, output = made.run(*arguments)
            expect(status == 1 and message in output, message, output)
        expect(before == made.read(), "left as it was", "")


def new_function(folder):
    made = Made(os.path.join(folder, "new"))
    text = re.sub(r", [12], (hipArray3D\w+),", r", 0, \1,", made.read())
    with open(made.functions, "w", encoding="utf-8") as file:
        file.write(text)
    status, output = made.run("--check")
    expect(status == 1 and "hipOfTomorrow: not in" in output, "a new function is missed", output)
    status, output = made.run()
    expect(status == 0, "a new function is added", output)
    expect(made.read().endswith(ADDED), "as it is", made.read()[-300:])
    expect(", 1, hipArray3DCreate," in made.read(), "a place is added", "")
    status, output = made.run("--check")
    expect(status == 0, "then nothing is missing", output)


def main():
    with tempfile.TemporaryDirectory() as folder:
        made_headers(folder)
        new_function(folder)
    status, output = run("--check", "--include", os.environ.get("HIP_INCLUDE", "/usr/include"))
    print(output, end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
