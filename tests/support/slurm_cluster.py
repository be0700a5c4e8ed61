#!/usr/bin/python3
"""Runs a command inside a Slurm cluster of one node: slurm_cluster.py COMMAND [ARGUMENT...].

munged, slurmctld and slurmd are started with a key, a configuration and state of their own in a
temporary folder, and are ended by pid after the command, whose exit status is this program's. All
of it is in a network of its own that has a loopback interface only, so nothing can be reached from
outside and nothing of the machine's own Slurm is in the way. Needs neither systemd nor control
groups; as root it needs to be allowed to make a network namespace, else a user namespace.
"""

import fcntl
import getpass
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import processes  # noqa: E402

INSIDE = "--in-network-of-its-own"
SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8914, 0x8916, 1  # linux/sockios.h, net/if.h
START_SECONDS = 30
END_SECONDS = 5
SLOTS = 8  # tasks the node takes, however many cores it has

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/linear
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs={slots} State=UNKNOWN
PartitionName=all Nodes=node Default=YES OverSubscribe=FORCE
"""


class ClusterError(Exception):
    """The cluster did not come up: which part, and the end of what it said."""


def main():
    if len(sys.argv) < 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    if sys.argv[1] != INSIDE:
        as_user = [] if os.geteuid() == 0 else ["--map-current-user", "--keep-caps"]
        os.execvp("unshare", ["unshare", "--net", *as_user, sys.executable, __file__, INSIDE,
                              *sys.argv[1:]])
    start_loopback()
    # What outlives the daemons (a slurmstepd) becomes a child of this process, which waits for it.
    processes.become_reaper()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # so that `finally` runs
    daemons, environment = [], None
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        try:
            environment = start(Path(folder), daemons)
            return subprocess.run(sys.argv[2:], env=environment, check=False).returncode
        except ClusterError as error:
            print(f"slurm_cluster: {error}", file=sys.stderr)
            return 1
        finally:
            signal.signal(signal.SIGTERM, lambda number, frame: None)  # it may come again
            if environment:
                cancel_jobs(environment)
            for daemon in reversed(daemons):
                end(daemon)
            reap_orphans()


def start_loopback():
    """With a second address: an interface that has 127.0.0.1 alone is none to getaddrinfo."""
    with socket.socket() as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
        address = struct.pack("16sHH4s16x", b"lo:1", socket.AF_INET, 0, bytes([127, 0, 0, 2]))
        fcntl.ioctl(control, SIOCSIFADDR, address)


def start(folder, daemons):
    """Appends to `daemons` what it starts; gives the environment srun finds the cluster by."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(
        host=socket.gethostname(), user=getpass.getuser(), folder=folder, slots=SLOTS),
        encoding="ascii")
    # Nothing asks for control groups; version 1 is the one that does not insist on finding them.
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="ascii")
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    socket_path = folder / "munge.socket"
    # Forced, because it wants a folder that everyone may enter.
    run_daemon(folder, daemons, "munged", "--foreground", "--force", f"--key-file={key}",
               f"--socket={socket_path}", f"--pid-file={folder}/munged.pid",
               f"--seed-file={folder}/munged.seed", "--log-file=/dev/stderr")
    wait_for(daemons, folder, socket_path.exists)
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    for daemon in ("slurmctld", "slurmd"):
        run_daemon(folder, daemons, daemon, "-D", env=environment)
    wait_for(daemons, folder, lambda: node_state(environment) == "idle")
    return environment


def run_daemon(folder, daemons, name, *arguments, env=None):
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"  # which is not on everyone's PATH
    with open(folder / f"{name}.log", "wb") as log:
        # In a session of its own: what ends the command's group must not end those who end its job.
        daemons.append(subprocess.Popen(
            [name, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, env={**(env or os.environ), "PATH": path}))


def node_state(environment):
    answer = subprocess.run(["sinfo", "--noheader", "--format=%T"], env=environment, text=True,
                            capture_output=True, check=False)
    return answer.stdout.strip()


def wait_for(daemons, folder, condition):
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        for daemon in daemons:
            if daemon.poll() is not None:
                raise ClusterError(f"{daemon.args[0]} ended: {last_words(folder, daemon)}")
        if time.monotonic() > deadline:
            raise ClusterError(f"not up after {START_SECONDS} s: {last_words(folder, daemons[-1])}")
        time.sleep(0.05)


def last_words(folder, daemon):
    return (folder / f"{daemon.args[0]}.log").read_text(encoding="utf-8", errors="replace")[-2000:]


def end(daemon):
    for number in (signal.SIGTERM, signal.SIGKILL):
        if daemon.poll() is None:
            daemon.send_signal(number)
            try:
                daemon.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                pass


def cancel_jobs(environment):
    """Of the command that was ended; those of one that ended by itself are over."""
    def jobs():
        answer = subprocess.run(["squeue", "--noheader", "--format=%A"], env=environment, text=True,
                                capture_output=True, check=False)
        return answer.stdout.split()

    deadline = time.monotonic() + 2 * END_SECONDS
    while (left := jobs()) and time.monotonic() < deadline:
        for how in (["--full", "--signal=KILL"], []):  # its processes, then its place in the queue
            subprocess.run(["scancel", *how, *left], env=environment, capture_output=True,
                           check=False)
        time.sleep(0.2)


def reap_orphans():
    """Waits for them a while, then ends them, and those whom that makes orphans."""
    deadline = time.monotonic() + END_SECONDS
    try:
        while True:
            if os.waitpid(-1, os.WNOHANG)[0] != 0:
                continue
            if time.monotonic() > deadline:
                for pid in processes.children_of(os.getpid()):
                    print(f"slurm_cluster: {pid} of the job is still there; it is ended",
                          file=sys.stderr)
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
    except ChildProcessError:
        pass  # nothing is left


if __name__ == "__main__":
    sys.exit(main())
