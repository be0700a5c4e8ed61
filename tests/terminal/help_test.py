#!/usr/bin/python3
"""Reads the help of every command as a newcomer does: no line is wider than 80 columns, each option that
takes a value says what it is without one, each command has an example, and what the overview names is there.

    help_test.py --sonde PATH"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from tool_case import ToolCase, main  # noqa: E402


def commands(overview):
    shown = re.findall(r"^  ([a-z][a-z-]+)  +[A-Z]", overview, re.MULTILINE)
    views = re.search(r"^Views: (.*)\.$", overview, re.MULTILINE | re.DOTALL).group(1)
    return shown, re.findall(r"[a-z-]+", views)


def options_of(text):
    """(heading, what is said of it) of each option."""
    found = []
    for line in text.split("\nOptions\n")[1].split("\n\nExamples\n")[0].split("\n"):
        if line.startswith("  -"):
            heading, _, said = line[2:].partition("  ")
            found.append([heading, said.strip()])
        elif re.match(r"  \S", line):  # names that go on
            found[-1][0] += " " + line.strip()
        else:
            found[-1][1] += " " + line.strip()
    return found


class Help(ToolCase):
    def help(self, *command):
        """No line of it is too wide."""
        text = self.run_sonde(*command, "--help").stdout
        self.assertEqual([line for line in text.split("\n") if len(line) > 80], [])
        return text

    def test_the_overview(self):
        shown, views = commands(self.help())
        self.assertLessEqual(len(shown), 28)
        self.assertGreater(len(views), 20)

    def test_each_command(self):
        shown, views = commands(self.help())
        for name in shown + views:
            with self.subTest(name):
                text = self.help(name)
                self.assertRegex(text, rf"\nExamples\n(?s:.*)sonde {name}\b")
                for heading, said in options_of(text):
                    takes_value = re.search(r" [A-Z][A-Z]*\b|marker:", heading) is not None
                    is_refused = said.strip().startswith(("refused", "taken and without effect"))
                    if takes_value and not is_refused:
                        self.assertRegex(said, r" \[[^\[\]]+\]$", heading)


if __name__ == "__main__":
    main()
