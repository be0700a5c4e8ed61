"""Running `sonde`: where it is, with which signals, and ending as the recorded program did."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))  # PREFIX/lib/sonde/drop-in/sonde_dropin
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
              signal.SIGUSR2)
_SI_KERNEL = 0x80  # the terminal has told the whole group


class Failure(Exception):
    """One line, and an exit status."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def existing(path, exists=os.path.exists):
    """The path, if something is there."""
    if not exists(path):
        raise Failure(f"{path}: no such file")
    return path


def sonde():
    named = os.environ.get("SONDE")
    if named:
        return named
    own = os.path.join(HERE, "..", "..", "..", "..", "bin", "sonde")
    found = os.path.normpath(own) if os.access(own, os.X_OK) else shutil.which("sonde")
    if not found:
        raise Failure("sonde: not found (add its folder to PATH)", 127)
    return found


def _spawn(command, mask):
    """Python sets the signals right again that it ignores itself."""
    try:
        return subprocess.Popen(command, close_fds=False, preexec_fn=lambda: signal.pthread_sigmask(
            signal.SIG_SETMASK, mask))
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}", 127) from error


def run(command):
    """Runs it with our streams; returns its status as subprocess has it. A signal that was sent to
    this process alone is passed on; Ctrl-C has reached it from the terminal."""
    watched = set(_FORWARDED) | {signal.SIGCHLD}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, nobody could learn how it ended
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        process = _spawn(command, before)
        while process.poll() is None:
            arrived = signal.sigwaitinfo(watched)
            alone = arrived.si_signo != signal.SIGCHLD and arrived.si_code != _SI_KERNEL
            if alone and process.poll() is None:
                os.kill(process.pid, arrived.si_signo)
        return process.returncode
    finally:
        while signal.sigtimedwait(watched, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def to_read(path):
    """The URI by which SQLite opens a file for reading only."""
    return "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=ro"


def literal(name):
    """A name for `sonde record -o` that has no keys."""
    return name.replace("%", "%%")


def replace(command):
    """Becomes `sonde` with these arguments."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them
    path = sonde()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(path, [path] + command)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", 127) from error


def end_like(status):
    """As the recorded program ended."""
    sys.stdout.flush()
    sys.stderr.flush()
    if status >= 0:
        sys.exit(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's was written, if any
    if -status != signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    os._exit(128 - status)


def _traced(command, output, program, options):
    """Runs the program under a command of sonde's; returns its status and the name of the trace, or None."""
    with tempfile.TemporaryDirectory(prefix="sonde-") as folder:
        name_file = os.path.join(folder, "name")
        # What the user has set in the environment counts more than a front's choice.
        chosen = []
        for name, value in options:
            if "SONDE_" + name.upper().replace("-", "_") not in os.environ:
                chosen += ["--" + name] + ([value] if value is not None else [])
        status = run([sonde()] + command + ["--overwrite", "--name-file", name_file, "-o", output]
                     + chosen + ["--"] + program)
        try:
            with open(name_file, encoding="utf-8", errors="surrogateescape") as file:
                trace = file.read()
        except FileNotFoundError:
            return status, None
        return status, trace if os.path.exists(trace) else None


def record(output, program, options=()):
    """Records the program; returns its status and the name of the trace, or None."""
    return _traced(["record", "-q"], output, program, options)


def profile(output, program, options=()):
    """Counts hardware counters of the program's kernels; returns the same."""
    return _traced(["profile"], output, program, options)


def sonde_quietly(*arguments):
    """A command of sonde's; its output goes nowhere, its complaints to stderr."""
    done = subprocess.run([sonde()] + list(arguments), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, check=False)
    return done.returncode == 0
