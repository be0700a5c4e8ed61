"""The options of rocpd's commands."""

from .table import REFUSED, Front, Option, options_of

_MAIL = "Sonde sends no mail; send the file that -o names"

_INPUT = options_of("""
    -i --input FILE...  databases (.db) and folders with them; of several, all rows are taken together. Any other
        trace that Sonde reads, too""")
_WINDOW = options_of("""
    --start TIME  where the part begins: nanoseconds of the trace's own clock, or 25%
    --end TIME  where it ends
    --start-marker NAME  it begins with the first range or mark of this name
    --end-marker NAME  it ends with the last range or mark of this name""")
_MERGING = options_of("""
    --automerge-limit N  databases that are not merged first  differs: several are always merged first""")


def _output(name):
    return options_of(f"""
        -o --output-file NAME  what the files' names begin with; {name}
        -d --output-path DIR  the folder; rocpd-output-data by default""")


CONVERT = Front(
    "rocpd convert", "rocpd convert -i FILE... -f FORMAT... [OPTIONS]",
    "Writes databases of rocprofv3 in other formats, with sonde export.", {
        "Input and output": [*_INPUT, *options_of("""
            -f --output-format FORMAT...  csv, pftrace, otf2"""), *_output("out by default"), *_MERGING],
        "Part": [*_WINDOW, *options_of("""
            --inclusive BOOL  events that are in the part only partly  differs: they are always written""")],
        "Content": options_of("""
            --kernel-rename [BOOL]  name kernels after their ranges
                differs: kernels keep their names; sonde kernels --by marker groups them by their ranges
            --agent-index-value KIND  how agents are numbered  differs: agents are numbered absolute
            --perfetto-backend KIND  inprocess or system
                differs: the file is written from the trace, no service is asked
            --perfetto-buffer-fill-policy POLICY  discard or ring_buffer  differs: there is no buffer to fill
            --perfetto-buffer-size KB  size of the buffer  differs: there is none, and no loss by it
            --perfetto-shmem-size-hint KB  size of the shared memory  differs: none is needed
            --group-by-queue [BOOL]  a track for each queue, as always"""),
    })

QUERY = Front(
    "rocpd query", "rocpd query -i FILE... --query SQL [OPTIONS]",
    "Prints what an SQL query finds in databases of rocprofv3: their own tables and views.", {
        "Query": [*_INPUT, *options_of("""
            --query SQL  a SELECT
            --script FILE  SQL that is run before, on a copy: views, for instance"""), *_MERGING],
        "Output": options_of("""
            --format FORMAT  console (by default), csv, html, json, md
            -o --output-file NAME  the file, its ending is that of the format; without, it is printed
            -d --output-path DIR  the folder; rocpd-output-data by default
            --template-path FILE  a template for dashboards
                not done: there are no dashboards; sonde report makes a page"""),
        "Part": _WINDOW,
        "Mail": [Option(name, value, REFUSED, "mail", _MAIL) for name, value in (
            ("--email-to", "ADDRESS"), ("--email-from", "ADDRESS"), ("--email-subject", "TEXT"),
            ("--smtp-server", "HOST"), ("--smtp-port", "N"), ("--smtp-user", "NAME"), ("--smtp-password", "WORD"),
            ("--zip-attachments", ""), ("--inline-preview", ""))],
    })

SUMMARY = Front(
    "rocpd summary", "rocpd summary -i FILE... [OPTIONS]",
    "Prints statistics of kernels, copies and calls in databases of rocprofv3.", {
        "Input and output": [*_INPUT, *options_of("""
            --format FORMAT...  console (by default), csv, html, json, md"""), *_output("without, it is printed"), *_MERGING],
        "Content": options_of("""
            --region-categories NAME...  calls of these only: HIP, HSA, MARKERS, RCCL, or NONE
            --domain-summary [BOOL]  and a row for each domain
            --summary-by-rank [BOOL]  a summary of each rank
                differs: all ranks are in one; sonde ranks compares them"""),
        "Part": _WINDOW,
    })

MERGE = Front(
    "rocpd merge", "rocpd merge -i FILE... [-o NAME] [-d DIR]",
    "Makes one database of several, with sonde merge.", {
        "Input and output": [*_INPUT, *_output("merged by default")],
    })

# Of rocpd, but no front.
MISSING = {"package": "each command takes several databases, and folders with them"}
