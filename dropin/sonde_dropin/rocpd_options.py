"""The options of rocpd's commands."""

from .table import NEAR, REFUSED, SAME, Front, Option

_MAIL = "Sonde sends no mail; send the file that -o names"

_INPUT = Option("-i --input", "FILE...", SAME, "databases (.db) and folders with them; of several, all rows are "
                "taken together. Any other trace that Sonde reads, too")
_WINDOW = [
    Option("--start", "TIME", SAME, "where the part begins: nanoseconds of the trace's own clock, or 25%"),
    Option("--end", "TIME", SAME, "where it ends"),
    Option("--start-marker", "NAME", SAME, "it begins with the first range or mark of this name"),
    Option("--end-marker", "NAME", SAME, "it ends with the last range or mark of this name"),
]
_MERGING = Option("--automerge-limit", "N", NEAR, "databases that are not merged first", "several are always merged first")


def _output(name):
    return [
        Option("-o --output-file", "NAME", SAME, f"what the files' names begin with; {name}"),
        Option("-d --output-path", "DIR", SAME, "the folder; rocpd-output-data by default"),
    ]


CONVERT = Front(
    "rocpd convert", "rocpd convert -i FILE... -f FORMAT... [OPTIONS]",
    "Writes databases of rocprofv3 in other formats, with sonde export.", {
        "Input and output": [
            _INPUT,
            Option("-f --output-format", "FORMAT...", SAME, "csv, pftrace, otf2"),
            *_output("out by default"), _MERGING,
        ],
        "Part": [*_WINDOW, Option("--inclusive", "BOOL", NEAR, "events that are in the part only partly",
                                  "they are always written")],
        "Content": [
            Option("--kernel-rename", "[BOOL]", NEAR, "name kernels after their ranges", "kernels keep their names; "
                   "sonde kernels --by marker groups them by their ranges"),
            Option("--agent-index-value", "KIND", NEAR, "how agents are numbered", "agents are numbered absolute"),
            Option("--perfetto-backend", "KIND", NEAR, "inprocess or system", "the file is written from the trace, no "
                   "service is asked"),
            Option("--perfetto-buffer-fill-policy", "POLICY", NEAR, "discard or ring_buffer",
                   "there is no buffer to fill"),
            Option("--perfetto-buffer-size", "KB", NEAR, "size of the buffer", "there is none, and no loss by it"),
            Option("--perfetto-shmem-size-hint", "KB", NEAR, "size of the shared memory", "none is needed"),
            Option("--group-by-queue", "[BOOL]", SAME, "a track for each queue, as always"),
        ],
    })

QUERY = Front(
    "rocpd query", "rocpd query -i FILE... --query SQL [OPTIONS]",
    "Prints what an SQL query finds in databases of rocprofv3: their own tables and views.", {
        "Query": [
            _INPUT,
            Option("--query", "SQL", SAME, "a SELECT"),
            Option("--script", "FILE", SAME, "SQL that is run before, on a copy: views, for instance"),
            _MERGING,
        ],
        "Output": [
            Option("--format", "FORMAT", SAME, "console (by default), csv, html, json, md"),
            Option("-o --output-file", "NAME", SAME, "the file, its ending is that of the format; without, it is "
                   "printed"),
            Option("-d --output-path", "DIR", SAME, "the folder; rocpd-output-data by default"),
            Option("--template-path", "FILE", REFUSED, "a template for dashboards", "there are no dashboards; sonde "
                   "report makes a page"),
        ],
        "Part": _WINDOW,
        "Mail": [Option(name, value, REFUSED, "mail", _MAIL) for name, value in (
            ("--email-to", "ADDRESS"), ("--email-from", "ADDRESS"), ("--email-subject", "TEXT"),
            ("--smtp-server", "HOST"), ("--smtp-port", "N"), ("--smtp-user", "NAME"), ("--smtp-password", "WORD"),
            ("--zip-attachments", ""), ("--inline-preview", ""))],
    })

SUMMARY = Front(
    "rocpd summary", "rocpd summary -i FILE... [OPTIONS]",
    "Prints statistics of kernels, copies and calls in databases of rocprofv3.", {
        "Input and output": [
            _INPUT,
            Option("--format", "FORMAT...", SAME, "console (by default), csv, html, json, md"),
            *_output("without, it is printed"), _MERGING,
        ],
        "Content": [
            Option("--region-categories", "NAME...", SAME, "calls of these only: HIP, HSA, MARKERS, RCCL, or NONE"),
            Option("--domain-summary", "[BOOL]", SAME, "and a row for each domain"),
            Option("--summary-by-rank", "[BOOL]", NEAR, "a summary of each rank", "all ranks are in one; sonde ranks "
                   "compares them"),
        ],
        "Part": _WINDOW,
    })

MERGE = Front(
    "rocpd merge", "rocpd merge -i FILE... [-o NAME] [-d DIR]",
    "Makes one database of several, with sonde merge.", {
        "Input and output": [_INPUT, *_output("merged by default")],
    })

# Of rocpd, but no front.
MISSING = {"package": "each command takes several databases, and folders with them"}
