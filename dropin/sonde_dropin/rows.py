"""Rows of a query or a summary, in the forms that rocpd and nsys print."""

import csv
import functools
import html
import io
import json

ENDINGS = {"console": ".txt", "csv": ".csv", "html": ".html", "json": ".json", "md": ".md"}


def _text(value):
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def _console(columns, rows):
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max([len(name)] + [len(row[at]) for row in cells]) for at, name in enumerate(columns)]
    right = [bool(rows) and all(value is None or isinstance(value, (int, float)) for value in (row[at] for row in rows))
             for at in range(len(columns))]

    def line(words):
        return "  ".join(word.rjust(width) if to_right else word.ljust(width)
                         for word, width, to_right in zip(words, widths, right)).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths])] +
                     [line(row) for row in cells]) + "\n"


def _csv(columns, rows, **how):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", **how)
    writer.writerow(columns)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return out.getvalue()


def _json(columns, rows):
    return json.dumps([dict(zip(columns, row)) for row in rows], indent=2, default=_text) + "\n"


def _md(columns, rows):
    def line(words):
        return "| " + " | ".join(word.replace("|", "\\|").replace("\n", " ") for word in words) + " |"

    return "\n".join([line(columns), "|" + "---|" * len(columns)] +
                     [line([_text(value) for value in row]) for row in rows]) + "\n"


def _html(columns, rows):
    def line(tag, words):
        return "<tr>" + "".join(f"<{tag}>{html.escape(word)}</{tag}>" for word in words) + "</tr>"

    body = [line("th", columns)] + [line("td", [_text(value) for value in row]) for row in rows]
    return ('<!doctype html>\n<meta charset="utf-8">\n<table border="1">\n' + "\n".join(body) +
            "\n</table>\n")


_WRITERS = {"console": _console, "csv": _csv, "tsv": functools.partial(_csv, delimiter="\t"), "html": _html, "json": _json, "md": _md}


def text(form, columns, rows):
    return _WRITERS[form](list(columns), [list(row) for row in rows])
