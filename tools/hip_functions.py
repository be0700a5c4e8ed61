#!/usr/bin/env python3
"""Brings src/backends/rocm/hip/functions.inc up to date with HIP's headers.

    tools/hip_functions.py                        of /usr/include
    tools/hip_functions.py --include DIR          of another version, unpacked to DIR
    tools/hip_functions.py --check                changes nothing; exit status 1: something is missing
                                                  or does not fit, 77: no headers

What the file has is kept: it serves all versions at once. Functions and places in the dispatch table
that the headers have and the file lacks are added; a function whose types, id or place differ is an
error, for a person to decide. The compiler says what a type is, so a C++ compiler is needed.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FUNCTIONS = "src/backends/rocm/hip/functions.inc"
WIDTH = 100

# Of the dispatch table, and not recorded, with the reason that docs/backends/hip.md gives.
LEFT_OUT = {name: "its result is no error code" for name in (
    "hipApiName", "hipCreateChannelDesc", "hipGetErrorName", "hipGetErrorString",
    "hipGetStreamDeviceId", "hipKernelNameRef", "hipKernelNameRefByPtr")}

# Pointers that a successful call has written one value through. Others are shown as they are: what
# they point to may be an array, and empty.
OUT = set("""active apiVersion array blockSize captureStatus_out childGraph count ctx cubinBuf device
    deviceId devPtr dev_ptr driverVersion event event_out fd flags func functionPtr fptr graph
    granularity graphNode gridSize handle hStream hipBinOut id_out isEnabled leastPriority
    levelArray library link mem_pool memPool mipmap mode module ms numBlocks numDependencies_out
    object_out offset option pApiVersion pArray pCaptureStatus pClonedGraph pFlags pFormat pGraph
    pGraphExec pGraphNode pHandle pHostPtr pId pKernel pNumChannels pTexObject pCtx pValue pctx
    phGraph phGraphExec phGraphNode pfm pfn pam ppArray priority ptr runtimeVersion size sizeOut
    status stateOut stream streamId symbolStatus texref texRef value vptr widthInBytes
    maxWidthInElements dynamicSmemSize free total pbias pmaxAnsio funcPtr greatestPriority
    graph_out""".split())
# Names of OUT that are something else in these functions.
IN = {"hipLaunchKernelExC", "hipDrvLaunchKernelEx", "hipMemcpyBatchAsync", "hipMemcpy3DBatchAsync",
      "hipStreamUpdateCaptureDependencies", "hipDeviceSetGraphMemAttribute", "hipTexRefSetAddress",
      "hipPointerSetAttribute", "hipGetTextureReference"}

CATEGORIES = (  # the first that fits
    (r"Error", "error"), (r"Graph|UserObject", "graph"), (r"Launch|Stub", "launch"),
    (r"Memcpy", "copy"), (r"Memset", "memset"), (r"Tex|Array|Surface|Channel|Mipmap", "texture"),
    (r"Event", "event"), (r"Ctx", "context"), (r"StreamBatchMemOp|Stream", "stream"),
    (r"Module|Func|Symbol|Link|Library|ProcAddress|EntryPoint|Kernel|Occupancy", "module"),
    (r"Device|Driver", "device"), (r"Profiler", "profiler"), (r"", "memory"))
CHEAP = re.compile(r"Get(?!Mapped|Handle)|Query|IsCapturing|Peek")

PROBE = r"""
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <hip/amd_detail/hip_prof_str.h>
#if __has_include(<hip/amd_detail/hip_api_trace.hpp>)
#include <hip/amd_detail/hip_api_trace.hpp>
#endif
#include <cstdio>
#include <type_traits>
template <typename T> void show() {
  constexpr int size = sizeof(T);
  if constexpr (std::is_pointer_v<T>) {
    using U = std::remove_pointer_t<T>;
    using V = std::remove_cv_t<U>;
    const char* k = "p";
    if constexpr (std::is_same_v<U, const char>) k = "s";
    else if constexpr (std::is_const_v<U>) k = "p";
    else if constexpr (std::is_pointer_v<V>) k = "o";
    else if constexpr (std::is_same_v<V, float>) k = "F";
    else if constexpr (std::is_same_v<V, bool>) k = "p";
    else if constexpr (std::is_enum_v<V> || std::is_integral_v<V>) {
      if constexpr (sizeof(V) == 8) k = "Z";
      else if constexpr (sizeof(V) == 4)
        k = std::is_enum_v<V> || std::is_signed_v<V> ? "I" : "U";
    }
    std::printf(" %s", k);
  } else if constexpr (std::is_same_v<T, dim3>) std::printf(" D");
  else if constexpr (std::is_same_v<T, hipExtent>) std::printf(" E");
  else if constexpr (std::is_same_v<T, hipPitchedPtr>) std::printf(" P");
  else if constexpr (std::is_class_v<T> || std::is_union_v<T>) std::printf(" x%d", size);
  else if constexpr (std::is_enum_v<T>) std::printf(" e");
  else if constexpr (std::is_same_v<T, float>) std::printf(" f");
  else if constexpr (size == 8) std::printf(" z");
  else if constexpr (size == 2) std::printf(" h");
  else if constexpr (size == 1) std::printf(" b");
  else if constexpr (std::is_signed_v<T>) std::printf(" i");
  else std::printf(" u");
}
template <typename R, typename... A> void signature(const char* name, R (*)(A...)) {
  std::printf("%s %s", name, std::is_same_v<R, hipError_t> ? "error" : "other");
  (..., show<A>());
  std::printf("\n");
}
#define MEMBER(f, p) show<std::remove_cv_t<decltype(hip_api_data_t::args.f.p)>>()
#define COPY(f, p) std::printf("/%d", static_cast<int>(sizeof(hip_api_data_t::args.f.p)))
int main() {
"""


class Parameter:
    def __init__(self, name, kind, copied=0):
        self.name, self.kind, self.copied = name, kind, copied

    def text(self):
        return f"{self.name}:{self.kind}" + (
            f"/{self.copied}" if self.copied and self.kind == "p" else "")


class Headers:
    """What one version's headers say: ids and layout of the callbacks' data, functions and places of
    the dispatch table."""

    def __init__(self, include):
        self.include = include
        detail = os.path.join(include, "hip/amd_detail")
        with open(os.path.join(detail, "hip_prof_str.h"), encoding="utf-8") as file:
            prof = file.read()
        trace = os.path.join(detail, "hip_api_trace.hpp")
        table = ""
        if os.path.exists(trace):
            with open(trace, encoding="utf-8") as file:
                table = file.read()
        with open(os.path.join(include, "hip/hip_version.h"), encoding="utf-8") as file:
            version = file.read()
        self.version = tuple(
            int(re.search(rf"HIP_VERSION_{part}\s+(\d+)", version)[1]) for part in ("MAJOR", "MINOR"))
        self.ids = {name: int(number) for name, number in re.findall(
            r"^\s+HIP_API_ID_(hip\w+|__hip\w+) = (\d+),", prof, re.M)}
        self.members = {name: members for name, members in data_members(prof).items()
                        if name in self.ids}
        self.places = table_places(table)
        self.names = typedef_names(table)
        self.functions, self.other = {}, set()
        self.probe()

    def probe(self):
        lines = [f'std::printf("@{name}"); ' + "".join(
            f"MEMBER({name}, {member}); " + (f"COPY({name}, {member}__val); " if copied else "")
            for member, copied in members) + 'std::printf("\\n");'
            for name, members in self.members.items()]
        lines += [f'signature("{name}", static_cast<t_{name}>(nullptr));' for name in self.names]
        for line in run_probe(self.include, PROBE + "\n".join(lines) + "\n}\n").splitlines():
            name, *rest = line.split()
            if name.startswith("@"):
                self.add_members(name[1:], rest)
            elif name not in self.functions:
                parameters = [Parameter(parameter, kind)
                              for parameter, kind in zip(self.names[name], rest[1:], strict=True)]
                if rest[0] == "error":
                    self.functions[name] = parameters
                else:
                    self.other.add(name)

    def add_members(self, name, kinds):
        self.functions[name] = []
        for (member, _), kind in zip(self.members[name], kinds, strict=True):
            kind, _, size = kind.partition("/")
            self.functions[name].append(Parameter(member, kind, int(size or 0)))


def data_members(prof):
    """Of hip_api_data_t: {function: [(parameter, whether a copy of what it points to follows)]}"""
    union = prof[prof.index("union {"):prof.index("} args;")]
    found = {}
    for block, name in re.findall(r"struct \{\n((?:.*;\n)*?)\s*\} (\w+);", union):
        names = re.findall(r"(\w+)(?:\[\d+\])?;", block)
        found[name] = [(one, one + "__val" in names) for one in names
                       if not one.endswith("__val")]
    return found


def table_places(table):
    start = table.find("struct HipDispatchTable {")
    if start < 0:
        return []
    return re.findall(r"^\s+t_(\w+)\s+\w+_fn;", table[start:table.index("\n};", start)], re.M)


def typedef_names(table):
    """{function: names of its parameters}, of the typedefs of the dispatch table"""
    found = {}
    for name, text in re.findall(r"typedef [\w* ]+\(\*t_(hip\w+)\)\s*\((.*?)\);", table, re.S):
        text = re.sub(r"\s+", " ", text).strip()
        parts = [] if text in ("", "void") else text.split(",")
        found[name] = [re.search(r"(\w+)(\[\d*\])?$", part.strip())[1] for part in parts]
    return found


def run_probe(include, text):
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "probe.cpp"), os.path.join(folder, "probe")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        compiler = os.environ.get("CXX", "c++")
        subprocess.run([compiler, "-std=c++20", "-w", "-I", include, source, "-o", program],
                       check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def choose_kind(function, parameter):
    """Only what is known to be set by a call is shown as what was set."""
    known = parameter.name in OUT and function not in IN
    if parameter.kind in "oIUZF" and (not known or re.search(r"Set(?!up)|Destroy|^hipFree", function)):
        parameter.kind = "p"
    return parameter


def entry(number, place, name, parameters):
    category = next(category for pattern, category in CATEGORIES if re.search(pattern, name))
    weight = "-" if CHEAP.search(name) and category not in ("copy", "launch") else "+"
    text = " ".join(choose_kind(name, parameter).text() for parameter in parameters)
    head = f"X({number}, {place}, {name}, {category}, {weight}, {len(parameters)},"
    if len(f'{head} "{text}")') <= WIDTH:
        return [f'{head} "{text}")']
    return [head] + [f"  {line}" for line in quoted(text)]


def quoted(text):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) + 5 > WIDTH:
            lines.append(f'"{line} "')
            line = ""
        line += (" " if line else "") + word
    return lines + [f'"{line}")']


class Known:
    """What the file has."""

    def __init__(self, root):
        self.path = os.path.join(root, FUNCTIONS)
        with open(self.path, encoding="utf-8") as file:
            self.text = file.read()
        self.functions, self.places = {}, {}
        for number, place, name, words in re.findall(
                r"^X\((\d+), (\d+), (\w+), \w+, [+-], \d+,\s*((?:\"[^\"]*\"\s*)*)\)$", self.text, re.M):
            self.functions[name] = (int(number), "".join(re.findall(r'"([^"]*)"', words)).split())
            if place != "0":
                self.places[int(place)] = name

    def write(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(self.text)


def compare(known, headers):
    """What of the headers does not fit to what the file has."""
    wrong = []
    for name, parameters in headers.functions.items():
        if name not in known.functions:
            continue
        number, words = known.functions[name]
        ours = [passed_as(word.rpartition(":")[2]) for word in words]
        theirs = [passed_as(parameter.kind) for parameter in parameters]
        if ours != theirs:
            wrong.append(f"{name}: types ({', '.join(ours)}), the headers have ({', '.join(theirs)})")
        if number != 0 and headers.ids.get(name, number) != number:
            wrong.append(f"{name}: id {number}, the headers have {headers.ids[name]}")
        copies = [copy_of(word, headers.version) for word in words]
        theirs = [parameter.copied for parameter in parameters]
        if name in headers.members and copies != theirs:
            wrong.append(f"{name}: copies of {copies} bytes, the headers have {theirs}")
    at = {name: place for place, name in known.places.items()}
    for place, name in enumerate(headers.places):
        if known.places.get(place, name) != name:
            wrong.append(f"place {place} of the table: {known.places[place]}, the headers have {name}")
        elif at.get(name, place) != place:
            wrong.append(f"{name}: place {at[name]} of the table, the headers have {place}")
    return wrong


def passed_as(kind):
    """How a value is passed: pointers all alike, and whether a word is signed makes no difference."""
    letter = kind[0]
    if letter == "x":
        return kind
    return "p" if letter in "oIUZFs" else "i" if letter in "eu" else letter


def copy_of(word, version):
    """Bytes of the copy of what a parameter points to, in a version's callbacks."""
    kind, *sizes = word.rpartition(":")[2].split("/")
    if sizes:
        return int(sizes[-1] if version >= (6, 0) else sizes[0])
    return {"o": 8, "Z": 8, "I": 4, "U": 4, "F": 4, "s": 1}.get(kind, 0)


def missing(known, headers):
    wanted = set(headers.places) | set(headers.ids)
    functions = [name for name in headers.functions
                 if name in wanted and name not in known.functions and name not in LEFT_OUT]
    names = set(known.functions) | set(functions)
    places = {name: place for place, name in enumerate(headers.places)
              if place not in known.places and name in names}
    rest = [name for name in headers.places if name not in names and name not in LEFT_OUT]
    return functions, places, rest


def update(known, headers, functions, places):
    for name in functions:
        number = headers.ids.get(name, 0) if headers.version == (5, 2) else 0
        lines = entry(number, places.get(name, 0), name, headers.functions[name])
        known.text += "".join(line + "\n" for line in lines)
    for name, place in places.items():
        known.text = known.text.replace(f", 0, {name},", f", {place}, {name},")
    known.write()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--include", default="/usr/include", metavar="DIR")
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--root", default=ROOT, metavar="DIR", help="the checkout")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.include, "hip/amd_detail/hip_prof_str.h")):
        print(f"skipped: no headers of HIP in {options.include}")
        return 77
    known, headers = Known(options.root), Headers(options.include)
    wrong = compare(known, headers)
    functions, places, rest = missing(known, headers)
    wrong += [f"{name}: of the table, but with a result that is no hipError_t" for name in rest]
    for line in wrong:
        print(line)
    done = "missing"
    if options.check:
        for name in functions:
            print(f"{name}: not in {FUNCTIONS}")
        for name, place in places.items():
            print(f"{name}: place {place} is not in {FUNCTIONS}")
    elif not wrong:
        update(known, headers, functions, places)
        done = "added"
    print(f"HIP {'.'.join(map(str, headers.version))}: {len(headers.functions)} functions, "
          f"{len(headers.places)} places of the table; {len(functions)} functions and "
          f"{len(places)} places {done}, {len(wrong)} do not fit")
    return 1 if wrong or (options.check and (functions or places)) else 0


if __name__ == "__main__":
    sys.exit(main())
