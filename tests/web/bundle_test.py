#!/usr/bin/python3
"""The bundle of the page is that of its sources: built/sources.sha256 names both, file by file.

bundle_test.py [--write]: tools/build_page.sh writes the list; without --write it is compared. Also: what
is built has no address of another host in it and brings the licences of what it holds, and no source
makes HTML of text.
"""

import argparse
import hashlib
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "src/serve/page"
LIST = PAGE / "built/sources.sha256"


def sums():
    names = [PAGE / name for name in ("index.html", "package.json", "package-lock.json", "tsconfig.json")]
    names += sorted((PAGE / "src").rglob("*.*")) + sorted(PAGE.glob("built/*"))
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(PAGE)}\n"
                   for path in names if path != LIST)


def problems():
    known = LIST.read_text().splitlines() if LIST.exists() else []
    here = sums().splitlines()
    for line in sorted(set(known) ^ set(here), key=lambda text: text.split()[1]):
        yield f"{line.split()[1]}: not as it was when the bundle was built; run tools/build_page.sh"
    for path in sorted(PAGE.glob("built/app.*")) + [PAGE / "built/index.html"]:
        for match in re.finditer(r"(?:https?:)?//[\w.-]+\.\w+|\beval\(", path.read_text()):
            if not match.group(0).startswith("http://www.w3.org"):  # names of kinds of XML, never fetched
                yield f"{path.name}: {match.group(0)}"
    for path in sorted((PAGE / "src").rglob("*.ts*")):  # Preact itself knows the word
        for match in re.finditer(r"\w*innerHTML|insertAdjacentHTML|document\.write", path.read_text(), re.IGNORECASE):
            yield f"{path.name}: {match.group(0)}: names are text only"
    if "Permission is hereby granted" not in (PAGE / "built/LICENSES.txt").read_text():
        yield "LICENSES.txt: no licence"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        LIST.write_text(sums())
        return 0
    found = list(dict.fromkeys(problems()))
    print("\n".join(found) or "the bundle is that of its sources")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
