"""Roots: a minimal Debian of a suite in a folder, and commands that are run in it.

Used by matrix.py. A root is made by mmdebstrap and entered in namespaces of its own for mounts and
processes, so that nothing stays mounted or running when a command ends, however it ends. Its
checkout is /opt/sonde, the test data (if there is any) /opt/shared.
"""

import fcntl
import os
import shlex
import shutil
import subprocess
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
CHECKOUT = "/opt/sonde"
# What a bare system lacks to fetch a repository. No ccache: builds with it precompile no headers
# (cmake/sonde.cmake), which takes longer than the folder of the last build leaves to compile.
INCLUDE = "git,ca-certificates"
GIB = 1 << 30
# Measured (README.md): packages of all groups, build folder.
NEEDS = {"packages": 7.2 * GIB, "build": 3.5 * GIB}

ENVIRONMENT = {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
# Of the caller's environment: what says how its processor and terminal want to be used.
KEPT = ("TERM", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

# Run as root with the root's folder and the data's as arguments.
ENTER = r"""
set -e
root=$1 data=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$root/run/lock" 2>/dev/null || true
if [ -n "$data" ]; then
  mkdir -p "$root/opt/shared"
  mount --bind -o ro "$data" "$root/opt/shared"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
cd "$root"
exec chroot "$root" /usr/bin/env -i "$@"
"""


class RootError(Exception):
    """One line: what failed, and what to do."""


class Root:
    def __init__(self, folder, suite):
        self.suite = suite
        self.folder = Path(folder)
        self.path = self.folder / suite

    def exists(self):
        return (self.path / "etc/debian_version").exists()

    def lock(self):
        """A file that is locked while it is open: a second run would change the checkout below a build."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # Append mode: the name of who has it is not lost by trying.
        file = open(self.folder / f"{self.suite}.lock", "a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip()
            file.close()
            raise RootError(f"process {owner} runs ./dev matrix on {self.path}: wait for it, or end it"
                            " and go on where it was") from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        return file

    def needed_bytes(self):
        """What of the disk this root will take beside what it has."""
        if not self.exists():
            return NEEDS["packages"] + NEEDS["build"]
        has_packages = (self.path / "usr/bin/hipcc").exists()
        is_built = (self.path / CHECKOUT[1:] / "build/build.ninja").exists()
        return (0 if has_packages else NEEDS["packages"]) + (0.5 * GIB if is_built else NEEDS["build"])

    def make(self, log, mirror=MIRROR):
        """A bare system. It gets its name when it is whole."""
        if shutil.which("mmdebstrap") is None:
            raise RootError("there is no mmdebstrap: apt-get install mmdebstrap")
        partial = self.folder / f"{self.suite}.partial"
        if partial.exists():
            shutil.rmtree(partial)
        self.folder.mkdir(parents=True, exist_ok=True)
        # The Release file of a suite that moves may be past its date on a mirror.
        command = ["mmdebstrap", "--mode=root", "--variant=apt", f"--include={INCLUDE}",
                   '--aptopt=Acquire::Check-Valid-Until "false"',
                   '--aptopt=APT::Install-Recommends "false"', self.suite, str(partial), mirror]
        with open(log, "wb") as out:
            done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise RootError(f"mmdebstrap of {self.suite} failed: {log}")
        partial.rename(self.path)

    def remove(self):
        for place in (self.path, self.folder / f"{self.suite}.partial"):
            if place.exists():
                shutil.rmtree(place)

    def clone(self, repository, commit):
        """Brings the checkout in the root to a commit of the repository; its build folder stays."""
        place = self.path / CHECKOUT[1:]
        if not (place / ".git").exists():
            place.mkdir(parents=True, exist_ok=True)
            git(place, "init", "-q", "-b", "matrix")
        git(place, "fetch", "-q", "--no-tags", str(repository), commit)
        git(place, "checkout", "-q", "--force", "--detach", commit)
        git(place, "clean", "-q", "-fd")  # what is ignored, as build folders are, stays

    def command(self, words, data=None):
        """The command line that runs bash's arguments `words` in the root."""
        variables = {**ENVIRONMENT, **{name: os.environ[name] for name in KEPT if name in os.environ}}
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--", "/bin/sh", "-c", ENTER,
                "enter", str(self.path), str(data or ""),
                *(f"{name}={value}" for name, value in variables.items()), "/bin/bash", *words]

    def run(self, script, log, data=None, limit_s=None):
        """Runs a line of shell in the checkout, with its output in the log; the exit status, or
        None where it took longer than the limit."""
        words = ["-c", f"cd {CHECKOUT} && {{ {script}\n}}"]
        with open(log, "wb") as out:
            child = subprocess.Popen(self.command(words, data), stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.STDOUT)
            try:
                return child.wait(limit_s)
            except subprocess.TimeoutExpired:
                return None
            finally:
                child.kill()  # and with it all that it started
                child.wait()

    def ask(self, script):
        """What a line of shell prints."""
        done = subprocess.run(self.command(["-c", script]), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        return done.stdout

    def enter(self, words, data=None):
        """Gives the terminal to a shell, or to a command, in the root."""
        inside = ["-c", f"cd {CHECKOUT} 2>/dev/null; {shlex.join(words)}"] if words else ["-i"]
        return subprocess.call(self.command(inside, data))


def git(folder, *words):
    done = subprocess.run(["git", "-C", str(folder), "-c", "safe.directory=*", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RootError(f"git {words[0]} failed in {folder}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout.strip()


def free_bytes(folder):
    folder = Path(folder)
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def may_change_root():
    return os.geteuid() == 0
