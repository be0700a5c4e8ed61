#!/usr/bin/python3
"""Tests of the end-to-end runner itself: what must pass passes, what must fail fails."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

RUNNER = Path(__file__).resolve().parent / "run.py"
sys.path.insert(0, str(RUNNER.parent))
import pool  # noqa: E402
import run  # noqa: E402
import spec  # noqa: E402


class RunnerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        connection = sqlite3.connect(self.folder / "t.db")
        connection.execute("create table t(a, b)")
        connection.executemany("insert into t values(?, ?)", [(1, "x"), (2, None)])
        connection.commit()
        connection.close()

    def run_suite(self, text, *options, **environment):
        suite = self.folder / "suite.toml"
        suite.write_text(text.replace("@DB@", str(self.folder / "t.db")))
        command = [sys.executable, str(RUNNER), str(suite), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})

    def passes(self, body, **environment):
        done = self.run_suite(f'[[case]]\nname = "c"\n{body}', **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def fails(self, body, *said):
        done = self.run_suite(f'[[case]]\nname = "c"\n{body}')
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for text in said:
            self.assertIn(text, done.stdout)
        return done.stdout

    def rejects(self, body, said):
        done = self.run_suite(f'[[case]]\nname = "c"\n{body}')
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(said, done.stderr)

    def test_exit_status(self):
        self.passes('run = "true"')
        self.fails('run = "false"', "exit 1, expected 0")
        self.passes('run = "false"\nexit = "nonzero"')
        self.fails('run = "true"\nexit = "nonzero"', "exit 0, expected nonzero")
        self.passes('run = "kill -KILL $$"\nshell = true\nexit = "SIGKILL"')
        self.fails('run = "kill -TERM $$"\nshell = true\nexit = "SIGKILL"', "exit SIGTERM")
        self.fails('run = "/no/such/program"', "cannot run /no/such/program")

    def test_output(self):
        self.passes('run = "echo one two"\nexpect = ["one", "re:^one t.o$"]\nreject = "three"')
        self.fails('run = "echo one"\nexpect = "two"', "stdout lacks: two")
        self.fails('run = "echo one"\nexpect = "re:^ne"', "stdout lacks: re:^ne")
        self.fails('run = "echo one"\nreject = "one"', "stdout has: one")
        self.passes('run = "echo bad >&2"\nshell = true\nexpect-err = "bad"\nreject = "bad"')
        self.fails('run = "echo bad >&2"\nshell = true\nreject-err = "bad"', "stderr has: bad")
        self.passes('run = "cat"\nstdin = "typed"\nexpect = "typed"')
        self.passes('run = """cat <<"END"\nit\'s one quote\nEND\n"""\nshell = true\nexpect = "it\'s one"')

    def test_every_command_of_a_list_must_succeed(self):
        self.passes('run = ["touch a", "cat a"]')
        self.fails('run = ["false", "true"]', "exit 1")

    def test_files(self):
        self.passes('run = "echo x > made"\nshell = true\nfiles = ["{tmp}/made", "!{tmp}/other"]')
        self.fails('run = "true"\nfiles = "{tmp}/made"', "missing or empty")
        self.fails('run = "touch made"\nfiles = "{tmp}/made"', "missing or empty")
        self.fails('run = "touch made"\nfiles = "!{tmp}/made"', "file exists")

    def sql(self, sql, comparison):
        return f'run = "true"\nexpect-sql = [{{file = "@DB@", sql = "{sql}", {comparison}}}]'

    def test_sql(self):
        self.passes(self.sql("select count(*) from t", "is = 2"))
        self.passes(self.sql("select * from t", 'is = ["1|x", "2|"]'))
        self.fails(self.sql("select count(*) from t", 'is = "3"'), "gives '2', expected '3'")
        self.fails(self.sql("select * from t where a > 5", 'is = "0"'), "gives ''")
        self.fails(self.sql("select * from missing", "is = 1"), "no such table")
        self.passes(self.sql("select sum(a) from t", "at-least = 3, at-most = 3"))
        self.fails(self.sql("select sum(a) from t", "at-least = 4"), "at least 4")
        self.fails(self.sql("select sum(a) from t", "at-most = 2"), "at most 2")
        self.passes(self.sql("select 1.0 / 3", "near = [0.333, 0.001]"))
        self.fails(self.sql("select 1.0 / 3", "near = [0.333, 0.0001]"), "+-")
        self.fails(self.sql("select b from t where a = 1", "at-least = 1"), "expected a number")

    def test_facts_a_program_prints_are_compared_with_the_file(self):
        body = """run = '''echo '{{"count": COUNT}}' '''
            expect-sql = [{file = "@DB@", sql = "select count(*) from t", is = "{json.count}"}]"""
        self.passes(body.replace("COUNT", "2"))
        self.fails(body.replace("COUNT", "7"), "expected '7'")
        self.fails('run = "true"\nexpect = "{json.count}"', "unknown placeholder {json.count}")

    def test_json(self):
        run = "run = '''echo '[{{\"a\": 5}}]' '''\nexpect-json = "
        self.passes(run + '[{path = "0.a", is = 5}, {length = 1}]')
        self.fails(run + '[{path = "0.a", is = 6}]', "expected 6")
        self.fails(run + '[{path = "0.b", is = 6}]', "has no '0.b'")
        self.fails(run + "[{length = 2}]", "length 1, expected 2")
        self.fails('run = "echo {{"\nexpect-json = [{length = 0}]', "JSON:")

    def test_needs(self):
        skipped = '[[case]]\nname = "c"\nrun = "true"\nneeds = ["command:no-such-command"]'
        done = self.run_suite(skipped)
        self.assertEqual(done.returncode, 77)
        self.assertIn("skip c: needs command no-such-command", done.stdout)
        libraries = skipped.replace("command:no-such-command", "lib:libnone.so.1|libnone.so.2")
        self.assertEqual(self.run_suite(libraries).returncode, 77)
        self.assertEqual(self.run_suite(libraries.replace("libnone.so.2", "libc.so.6")).returncode, 0)
        mixed = f'{skipped}\n[[case]]\nname = "d"\nrun = "true"'
        self.assertEqual(self.run_suite(mixed).returncode, 0)
        need = '[[case]]\nname = "c"\nrun = "true"\nneeds = "shared:typo"'
        self.assertEqual(self.run_suite(need, SONDE_SHARED="/no/such/folder").returncode, 77)
        self.assertEqual(self.run_suite(need, SONDE_SHARED=str(self.folder)).returncode, 1)

    def test_another_user_reaches_a_build_in_a_closed_home(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        home = self.folder / "home"
        for folder in ("bin", "tests/programs"):
            (home / "build" / folder).mkdir(parents=True)
        program = home / "build/tests/programs/reached"
        program.write_text("#!/bin/sh\necho reached as $(id -u)\n")
        program.chmod(0o755)
        home.chmod(0o700)
        self.folder.chmod(0o755)
        body = '[[case]]\nname = "c"\nrun = "setpriv --reuid 65534 --clear-groups reached"\n'
        build = ("--build", str(home / "build"))
        done = self.run_suite(f'{body}expect = "as 65534"\nneeds = "other-user"', *build)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.run_suite(f'{body}needs = "root"', *build).returncode, 1)

    def test_the_callers_settings_are_dropped(self):
        body = 'run = "sh -c \'echo got $RANK $SLURM_PROCID $SONDE_SPOOL $SONDE_SHARED\'"\n'
        suite = f'[[case]]\nname = "c"\n{body}expect = "got /s\\n"'
        done = self.run_suite(suite, RANK="1", SLURM_PROCID="2", SONDE_SPOOL="3", SONDE_SHARED="/s")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_wrong_suites_are_rejected(self):
        self.rejects('run = "true"\nexpects = "x"', "unknown key 'expects'")
        self.rejects('run = "true"\nneeds = "luck"', "unknown need 'luck'")
        self.rejects('expect = "x"', "needs either run or")
        self.rejects('run = "true"\nexpect-sql = [{file = "f", sql = "s"}]', "needs is,")
        self.rejects('run = "true"\nkill = {signal = "KILL", afterms = 1}', "unknown key 'afterms'")
        self.rejects('run = "true"\nkill = {signal = "NOPE"}', "unknown signal")
        self.assertEqual(self.run_suite("").returncode, 2)

    def test_time_limit_ends_the_whole_group(self):
        started = time.monotonic()
        output = self.fails('run = "sleep 51.7 & sleep 51.7"\nshell = true\ntimeout = 0.3',
                            "still running after 0.3 s")
        self.assertLess(time.monotonic() - started, 20)
        self.assertNotIn("could not end", output)
        self.assertEqual(running("51.7"), [])

    def test_orphans_and_daemons_are_ended(self):
        self.passes('run = "setsid sleep 52.7 & setsid sleep 52.7 & true"\nshell = true')
        self.assertEqual(running("52.7"), [])

    def test_what_starts_more_while_it_is_ended_is_ended(self):
        self.passes("""shell = true
            run = "(trap '' TERM; while :; do setsid sleep 55.7 & sleep 0.002; done) & true" """)
        self.assertEqual(running("55.7"), [])

    def test_stopped_processes_are_ended(self):
        self.passes('run = "sleep 56.7 & kill -STOP $!"\nshell = true')
        self.assertEqual(running("56.7"), [])

    def test_stdin_that_is_not_read_holds_nothing_up(self):
        text = "x" * 65536
        self.passes(f'run = "true"\ntimeout = 5\nstdin = "{text}"')
        self.passes(f'run = "wc -c"\nexpect = "65536"\nstdin = "{text}"')
        self.fails(f'run = "true"\nstdin = "{text}x"', "longer than the 65536 bytes")

    def test_a_case_that_hangs_beside_its_commands_fails_alone(self):
        suite = self.folder / "suite.toml"
        endless = "with recursive t(a) as (select 1 union all select a from t) select a from t"
        hangs = self.sql(endless, "is = 1").replace("@DB@", str(self.folder / "t.db"))
        command = f'"setsid sleep 57.7 & pwd > {self.folder}/pwd"\nshell = true'
        hangs = hangs.replace('"true"', command, 1)
        suite.write_text("".join(f'[[case]]\nname = "{name}"\n{body}\n' for name, body in
                                 (("a", 'run = "true"'), ("b", hangs), ("c", 'run = "true"'))))
        places = run.find_places(str(self.folder))
        tasks = [((case, places, "seed", False), 3) for case in spec.load(suite)]
        with pool.Pool(1) as workers:
            outcomes = list(workers.run(tasks))
        self.assertEqual([len(outcome.problems) for outcome in outcomes], [0, 1, 0])
        self.assertIn("no end within 3 s", outcomes[1].problems[0])
        self.assertEqual(running("57.7"), [])
        self.assertFalse(os.path.exists((self.folder / "pwd").read_text().strip()))

    def test_many_cases_at_once(self):
        suite = "".join(f'[[case]]\nname = "c{i}"\nrun = "echo {i}"\nexpect = "{i}"\n'
                        for i in range(60))
        done = self.run_suite(suite, "--jobs", "8")
        self.assertEqual(done.returncode, 0, done.stdout)
        names = re.findall(r"(?m)^ok   c(\d+)", done.stdout)
        self.assertEqual(names, [str(i) for i in range(60)])

    def ends_with_the_runner(self, number, seconds):
        suite = self.folder / "suite.toml"
        suite.write_text(f'[[case]]\nname = "c"\nshell = true\n'
                         f'run = "setsid sleep {seconds} & '
                         f'pwd > {self.folder}/pwd; sleep {seconds}"')
        runner = subprocess.Popen([sys.executable, str(RUNNER), str(suite)],
                                  stdout=subprocess.DEVNULL)
        self.wait_until(lambda: len(running(seconds)) == 2)
        runner.send_signal(number)
        status = runner.wait(60)
        self.wait_until(lambda: not running(seconds))
        folder = (self.folder / "pwd").read_text().strip()
        self.wait_until(lambda: not os.path.exists(folder))
        return status

    def wait_until(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_nothing_is_left_when_the_runner_is_ended(self):
        self.assertEqual(self.ends_with_the_runner(signal.SIGTERM, "58.7"), 128 + signal.SIGTERM)
        self.assertNotEqual(self.ends_with_the_runner(signal.SIGINT, "59.7"), 0)
        self.ends_with_the_runner(signal.SIGKILL, "60.7")

    def test_orphans_can_be_waited_for(self):
        body = 'run = "(sleep 0.4; echo x > late) &"\nshell = true\nfiles = "{tmp}/late"\n'
        self.fails(body)
        self.passes(body + "wait-orphans = true")

    def test_kill_ends_the_command(self):
        kill = 'exit = "SIGKILL"\nkill = {target = "command", after_ms = [1, 20]}'
        self.passes(f'run = "sleep 30"\n{kill}')
        self.fails(f'run = "true"\n{kill.replace("[1, 20]", "300")}', "exit 0, expected SIGKILL")

    def test_kill_ends_the_program_a_command_started(self):
        self.passes('run = "sleep 30; echo after $?"\nshell = true\nexpect = "after 143"\n'
                    'kill = {signal = "TERM", name = "sleep"}')
        self.fails('run = "true"\nkill = {}\nkill.name = "sleep"'.replace("kill = {}\n", ""),
                   "never appeared")

    def test_background(self):
        body = """run = "cat {background.server.output}"
            expect = "ready"
            [[case.background]]
            name = "server"
            shell = true
            run = "sleep 0.2; echo ready; sleep 53.7"
            ready = "READY"
            timeout = 2"""
        self.passes(body.replace("READY", "ready"))
        self.fails(body.replace("READY", "never"), "never printed 'never'")
        self.assertEqual(running("53.7"), [])

    def test_repeat_and_seed(self):
        body = '[[case]]\nname = "c"\nrepeat = 3\nrun = "echo run >> FILE"\nshell = true'
        counter = self.folder / "counter"
        done = self.run_suite(body.replace("FILE", str(counter)), "--seed", "17")
        self.assertIn("seed 17", done.stdout)
        self.assertEqual(counter.read_text().count("run"), 3)

    def test_folders_are_removed(self):
        output = self.fails('run = "pwd; false"\nshell = true', "exit 1")
        folder = re.search(r"\S*/sonde-e2e-\S+", output).group(0)
        self.assertFalse(os.path.exists(folder))

    def test_exclusive_cases_run_alone(self):
        case = '[[case]]\nname = "NAME"\nexclusive = true\nshell = true\nrun = """\n' \
               "mkdir LOCK || exit 1\nsleep 0.2\nrmdir LOCK\"\"\"\n"
        text = "".join(case.replace("NAME", name) for name in ("a", "b", "c"))
        done = self.run_suite(text.replace("LOCK", str(self.folder / "lock")), "--jobs", "3")
        self.assertEqual(done.returncode, 0, done.stdout)


def running(argument):
    """Pids of `sleep ARGUMENT`."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", argument.encode()]:
            found.append(int(pid))
    return found


if __name__ == "__main__":
    unittest.main()
