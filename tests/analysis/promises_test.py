#!/usr/bin/python3
"""Every test that README.md names exists: a TEST of gtest in src, or a test of this folder."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    promised = set(re.findall(r"`(\w+\.\w+)`", (HERE / "README.md").read_text()))
    promised = {name for name in promised if not name.endswith(".py")}
    known = set()
    for path in (HERE.parent.parent / "src").rglob("*_test.cpp"):
        for suite, name in re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", path.read_text(), re.M):
            known.add(f"{suite}.{name}")
    cmake = (HERE / "CMakeLists.txt").read_text()
    listed = re.findall(r"sonde_python_test\((analysis\.\w+)", cmake)
    for names in re.findall(r"foreach\(name ([^)$]*)\)", cmake):
        listed += [f"analysis.{name}" for name in names.split()]
    missing = sorted(promised - known - set(listed))
    print("\n".join(f"no test is called {name}" for name in missing)
          or f"all {len(promised)} tests exist")
    return 1 if missing or len(promised) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
