"""Finds the command lines of a page in Markdown.

A line of an indented block, or of a fenced one without a language, is a command line if its first word
is a program, and the block's first line's is one; a "$ " before it and a comment after it do not
count. In the text, code like `this` is one if it names a file or runs another program than Sonde's;
otherwise it mentions a command and options, which have to exist. A block that begins with SELECT or WITH is a query.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)")
COMMENT = re.compile(r"\s+# .*$")
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"\.(rpd|json|gz|csv|toml|pftrace|py)\b")
PLACEHOLDER = re.compile(r"(?<![\w$])(?:[A-Z]{2,}|\.\.\.)(?![\w=])")
OURS = {"sonde", "softgpu"}
OTHERS = {"./dev", "cmake", "ctest", "pip", "srun"}
# What pages may show that no list of packages has: the same lines are found on every machine.
ELSEWHERE = {"source", "export", "jq"}


@dataclass(frozen=True)
class Line:
    kind: str  # "command", "mention" or "query"
    text: str
    where: str


def lines_of(path, name, programs):
    """`programs` are folders that are looked in beside those of PATH."""
    fenced = None  # the language of the block
    block = []
    number = 0
    found = []
    previous_blank = True
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if fence:
            fenced = fence.group(1) if fenced is None else None
        elif fenced is not None:
            if not fenced:
                block.append((number, line))
            continue
        elif line.startswith("    ") and (block or previous_blank):
            block.append((number, line[4:]))
            continue
        found += of_block(block, name, programs)
        block = []
        previous_blank = not line.strip()
        if fenced is None and not fence:
            found += of_text(line, f"{name}:{number}")
    return found + of_block(block, name, programs)


def of_block(block, name, programs):
    if not block:
        return []
    if block[0][1].split(" ")[0] in ("SELECT", "WITH"):
        text = "\n".join(line for _, line in block)
        return [Line("query", text, f"{name}:{block[0][0]}")]
    found = []
    # A definition, or what a command prints, may begin with a word that is a program's name too.
    if not is_program(first_word(block[0][1].removeprefix("$ ")), programs):
        return []
    for number, line in block:
        text = COMMENT.sub("", line.removeprefix("$ ")).strip()
        if text and is_program(first_word(text), programs) and "[OPTIONS]" not in text:
            found.append(Line("command", text, f"{name}:{number}"))
    return found


def first_word(text):
    words = [word for word in text.split() if not re.match(r"^[A-Z_]+=", word)]
    return words[0] if words else ""


def is_program(word, programs):
    """A shell's own commands are those that a page might show; paths are those of the checkout."""
    if word in ELSEWHERE or word.startswith("./") or word.split("-")[0] in OURS:
        return True
    if "/" in word:
        return word.startswith("build/bin/") or shutil.which(ROOT / word) is not None
    return any(shutil.which(word, path=folder) for folder in (None, *programs))


def of_text(line, where):
    found = []
    for text in CODE.findall(line):
        word = first_word(text)
        if word in OTHERS or (word in OURS and FILE.search(text) and not PLACEHOLDER.search(text)):
            found.append(Line("command", text, where))
        elif word in OURS and len(text.split()) > 1:
            found.append(Line("mention", text, where))
    return found
