"""`pawl top` on a real pseudo-terminal, at a real pawld over real masters: what it shows, and that
the terminal is as before on every way out."""

import fcntl
import http.client
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(ROOT, "tests/system/events"))
from stream import BIN, PATIENCE, Fleet, Pawld, Process, free_port, listens, until  # noqa: E402

OPENS, CLOSES = b"\x1b[?1049h", b"\x1b[?7h\x1b[?25h\x1b[?1049l"
UP, DOWN, PAGE_DOWN = b"\x1b[A", b"\x1b[B", b"\x1b[6~"
SHOWN_MAX = 1000  # locks


# As a shell with job control: pawl top is in a group of its own, which may be stopped.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


class Terminal:
    """A pawl top on a pseudo-terminal of this size."""

    def __init__(self, url, *words, rows=24, columns=80, shell=(), ignored=(), **variables):
        self.output = b""
        self.ignored = ignored
        self.fd, self.side = pty.openpty()  # the test has both sides: settings outlast the program
        self.size(rows, columns)
        self.before = termios.tcgetattr(self.side)
        self.process = subprocess.Popen(
            [*shell, os.path.join(BIN, "pawl"), "--server", url, "top", *words], stdin=self.side, stdout=self.side,
            stderr=self.side, env={**os.environ, "TERM": "xterm", **variables}, preexec_fn=self._control)

    def _control(self):
        os.setsid()
        for number in signal.SIGHUP, signal.SIGINT, signal.SIGQUIT:  # nohup and a script's & ignore them
            signal.signal(number, signal.SIG_IGN if number in self.ignored else signal.SIG_DFL)
        fcntl.ioctl(self.side, termios.TIOCSCTTY, 0)

    def size(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.fd], [], [], 0.02)[0]:
            self.output += os.read(self.fd, 65536)

    def lines(self):
        """Those of the last whole frame."""
        self.read()
        whole = self.output[:self.output.rfind(b"\x1b[J")]
        frame = whole[whole.rfind(b"\x1b[H"):].decode()
        return [line.rstrip("\r") for line in re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", frame).split("\n")]

    def text(self):
        return "\n".join(self.lines())

    def shows(self, *patterns):
        """Waits for lines like these."""
        for pattern in patterns:
            try:
                until(lambda: any(re.search(pattern, line) for line in self.lines()), pattern)
            except AssertionError as error:
                raise AssertionError(f"{error} on:\n{self.text()}") from None

    def shows_no(self, pattern):
        until(lambda: not any(re.search(pattern, line) for line in self.lines()), f"the end of {pattern}")

    def press(self, keys):
        os.write(self.fd, keys)

    def wait(self):
        """The exit code; negative: a signal ended it."""
        until(lambda: self.read() or self.process.poll() is not None, "the end of pawl top")
        self.read()
        return self.process.returncode

    def is_as_before(self):
        self.read()
        opened, closed = self.output.count(OPENS), self.output.count(CLOSES)
        return opened == closed > 0 and termios.tcgetattr(self.side) == self.before

    def is_open(self):
        self.read()
        return self.output.count(OPENS) == self.output.count(CLOSES) + 1 and b"\x1b[J" in self.output

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.fd), os.close(self.side)


class Case(unittest.TestCase):
    def pawld(self, *options, **how):
        pawld = Pawld(*options, **how)
        self.addCleanup(pawld.end)
        pawld.url = f"http://127.0.0.1:{pawld.port}"
        return pawld

    def over_masters(self):
        fleet = Fleet()
        self.addCleanup(fleet.end)
        return fleet, self.pawld("--probe-ms", "50", *fleet.options(), data=False)

    def acquire(self, pawld, name, **body):
        """Asks again where a busy machine keeps masters from answering."""
        answers = []
        until(lambda: answers.append(pawld.call("POST", "/v1/locks/" + name, body)) or answers[-1][0] == 201, name)
        return answers[-1][1]

    def top(self, *words, **how):
        terminal = Terminal(*words, **how)
        self.addCleanup(terminal.end)
        return terminal


class WhatIsShown(Case):
    def test_verdict_masters_locks_and_what_happens(self):
        fleet, pawld = self.over_masters()
        before = self.acquire(pawld, "reports/daily", owner="cron@db-3", ttl_ms=200000)
        top = self.top(pawld.url, rows=40, columns=120)
        top.shows(rf"live: \S+:{pawld.port}", rf"^reports/daily +{before['token']} +over .* cron@db-3$")
        self.assertEqual(top.lines()[0], "grants locks: 3 of 3 masters vote, 2 are needed")
        top.shows(rf"^redis://127.0.0.1:{fleet.ports[2]} +active ")
        grant = self.acquire(pawld, "orders/42", owner="worker-7", ttl_ms=200000)
        top.shows(rf"^orders/42 +{grant['token']} +(just now|[1-9]\S* s|\d+ min) .* worker-7$")
        pawld.call("POST", "/v1/locks/orders/42", {"owner": "worker-8"})
        top.shows(r"^\d\d:\d\d:\d\d  refused   orders/42  worker-8: held by worker-7$")
        pawld.call("DELETE", "/v1/locks/orders/42?force=true", If_Match=f'"{grant["token"]}"')
        top.shows_no(r"^orders/42 ")
        held = f"orders/42 token {grant['token']} "
        top.shows(f"  broken    {held}")
        pawld.call("PATCH", "/v1/locks/orders/42", Lock_Id=grant["lock_id"], Fencing_Token=grant["token"])
        top.shows(f"  lost      {held}.*lock-broken$")
        self.assertNotIn(grant["lock_id"].encode(), top.output)
        top.shows_no(r"granted")
        top.press(b"e")
        top.shows(f"  granted   {held} worker-7$")
        fleet.processes[0].kill()
        top.shows(r"^grants locks: 2 of 3 masters vote, 2 are needed; if one more fails, no lock can ", rf"^  redis://127.0.0.1:{fleet.ports[0]}: ")
        fleet.processes[1].kill()
        top.shows(r"^grants no lock: 1 of 3 masters vote")

    def test_orders_and_scrolling(self):
        pawld = self.pawld()
        for i in range(30):
            self.acquire(pawld, f"many/{i:02}", ttl_ms=200000 - 1000 * i)
        waiter = http.client.HTTPConnection("127.0.0.1", pawld.port, timeout=PATIENCE)
        self.addCleanup(waiter.close)
        waiter.request("POST", "/v1/locks/many/15", '{"wait_ms": 60000}', {"Content-Type": "application/json"})
        top = self.top(pawld.url)
        first = lambda name: until(lambda: any(re.match(rf"NAME .*\n{name} ", "\n".join(pair)) for pair in
                                               zip(top.lines(), top.lines()[1:])), f"{name} as the first")
        top.shows(r"^30 LOCKS held, most waiters first$", r"^many/15 .* 1 *$")
        first("many/15")
        top.press(b"s")
        top.shows(r"^30 LOCKS held, held longest first$")
        top.press(b"s")
        first("many/29")
        top.press(DOWN + DOWN)
        first("many/27")
        top.press(UP)
        first("many/28")
        top.press(PAGE_DOWN * 9)
        top.shows(r"^many/00 ")
        top.press(b"\x1b[H\x1b[1;5Dx\x1b")  # keys that mean nothing
        top.shows(r"^many/00 ")

    def test_screen_of_any_size_is_filled_and_not_more(self):
        pawld = self.pawld()
        for i in range(40):
            self.acquire(pawld, f"many/{i}/".ljust(200, "x"), owner="o" * 90, ttl_ms=200000)
        top = self.top(pawld.url)
        top.shows(r"^grants locks")
        for rows, columns in (10, 40), (50, 200), (4, 20), (24, 80):
            top.size(rows, columns)
            until(lambda: len(top.lines()) == rows, f"a frame of {rows} rows")
            top.shows(r"^q quit")
        self.assertTrue(top.lines()[0].startswith("grants locks"))

    def test_more_locks_than_it_shows(self):
        pawld = self.pawld()
        pawld.flood(SHOWN_MAX + 100)
        top = self.top(pawld.url)
        top.shows(rf"^{SHOWN_MAX} LOCKS held, and there are more \(pawl top PREFIX shows others\)")
        other = self.top(pawld.url, "flood/107")
        other.shows(r"^11 LOCKS held, most waiters first$", "^flood/1077/xx")


class ServerThatGoes(Case):
    def test_it_is_told_and_followed_again(self):
        _, pawld = self.over_masters()
        top = self.top(pawld.url)
        self.acquire(pawld, "a", owner="one", ttl_ms=200000)
        top.shows(r"^a +\d+ .* one$", r"live: ")
        pawld.tell(signal.SIGKILL)
        pawld.wait()
        top.shows(r"^no answer since \d\d:\d\d:\d\d$", r"asks every 2 s")
        self.assertEqual(top.lines()[0][:9], "no answer")
        pawld.start()
        top.shows(r"^grants locks", r"live: ")
        self.acquire(pawld, "b", owner="other", ttl_ms=200000)
        top.shows(r"^b +\d+ .* other$")

    def test_none_from_the_start_is_an_error(self):
        done = subprocess.run([os.path.join(BIN, "pawl"), "--server", f"http://127.0.0.1:{free_port()}", "top"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"^pawl: http://127\S+ does not answer")

    def test_key_and_authority_are_those_of_all_verbs(self):
        pawld = self.pawld()
        pawld.tell(signal.SIGTERM)
        pawld.wait()
        ec = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2".split()
        made = subprocess.run(["openssl", "req", "-x509", *ec, "-keyout", pawld.path("tls.key"), "-out",
                               pawld.path("tls.pem"), "-subj", "/CN=pawld", "-addext", "subjectAltName=IP:127.0.0.1"],
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual(made.returncode, 0, made.stderr)
        key = subprocess.run([os.path.join(BIN, "pawl"), "key", "new", "--id", "watcher", "--role", "lock", "--prefix",
                              "orders/", "--file", pawld.path("keys")], check=True, timeout=PATIENCE,
                             stdout=subprocess.PIPE).stdout
        with open(os.open(pawld.path("key"), os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(key)
        port = free_port()
        process = Process([os.path.join(BIN, "pawld"), "--listen", f"127.0.0.1:{port}", "--tls-cert",
                           pawld.path("tls.pem"), "--tls-key", pawld.path("tls.key"), "--keys", pawld.path("keys"),
                           *pawld.options], pawld.path("log"))
        self.addCleanup(process.kill)
        until(lambda: listens(port), "pawld")
        options = ["--ca-file", pawld.path("tls.pem"), "--key-file", pawld.path("key")]
        url = f"https://127.0.0.1:{port}"
        top = self.top(url, *options, "orders/")
        top.shows(r"live: ")
        subprocess.run([os.path.join(BIN, "pawl"), "--server", url, *options, "acquire", "--why", "worker-7", "orders/42"],
                       check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
        top.shows(r"^orders/42 +\d+ .* worker-7$")
        refused = self.top(url, *options)
        self.assertEqual(refused.wait(), 125)
        self.assertIn(b"the key watcher does not cover all names", refused.output)
        self.assertNotIn(OPENS, refused.output)


class WaysOut(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Pawld()
        cls.addClassCleanup(cls.server.end)
        cls.url = f"http://127.0.0.1:{cls.server.port}"

    def open_top(self, **how):
        top = self.top(self.url, **how)
        until(top.is_open, "the screen")
        self.assertNotEqual(termios.tcgetattr(top.side), top.before)
        return top

    def test_key(self):
        top = self.open_top()
        top.press(b"q")
        self.assertEqual(top.wait(), 0)
        self.assertTrue(top.is_as_before())

    def test_ctrl_c(self):
        top = self.open_top()
        top.press(b"\x03")
        self.assertEqual(top.wait(), -signal.SIGINT)
        self.assertTrue(top.is_as_before())

    def test_each_signal_that_ends_or_crashes_it(self):
        for number in signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS:
            with self.subTest(number):
                top = self.open_top()
                top.process.send_signal(number)
                self.assertEqual(top.wait(), -number)
                self.assertTrue(top.is_as_before())

    def test_stop_and_go_on(self):
        top = self.open_top(shell=(sys.executable, "-c", SHELL))
        group = os.tcgetpgrp(top.fd)
        top.press(b"\x1a")  # Ctrl-Z
        status = pathlib.Path(f"/proc/{group}/status")
        until(lambda: "State:\tT" in status.read_text(), "a stopped pawl top")
        self.assertTrue(top.is_as_before())
        os.killpg(group, signal.SIGCONT)
        until(top.is_open, "the screen")
        top.press(b"q")
        self.assertEqual(top.wait(), 0)
        self.assertTrue(top.is_as_before())

    def test_terminal_that_hangs_up(self):
        for ignored in (), (signal.SIGHUP,):  # nohup
            with self.subTest(ignored):
                top = self.open_top(ignored=ignored)
                os.close(top.side), os.close(top.fd)
                top.fd = os.open(os.devnull, os.O_RDONLY)
                top.side = os.dup(top.fd)
                until(lambda: top.process.poll() is not None, "the end of pawl top")


class Forgetful(Fleet):
    """Masters without persistence."""

    def _start(self, i, port):
        return Process(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", self.folder, "--save", ""], os.path.join(self.folder, f"log-{i}"))


class WithoutTerminal(Case):
    def once(self, pawld, *words, **variables):
        return subprocess.run([os.path.join(BIN, "pawl"), "--server", pawld.url, "top", *words], capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=PATIENCE, env={**os.environ, **variables})

    def test_it_prints_once(self):
        fleet, pawld = self.over_masters()
        for i in range(30):
            self.acquire(pawld, f"orders/{i:02}", owner="worker-7", ttl_ms=200000)
        done = self.once(pawld)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.split("\n")
        self.assertEqual(lines[0], "grants locks: 3 of 3 masters vote, 2 are needed")
        self.assertIn("30 LOCKS held, most waiters first", lines)
        self.assertEqual(sum(line.startswith("orders/") for line in lines), 30)
        self.assertNotIn("\x1b", done.stdout)
        for process in fleet.processes[:2]:
            process.kill()
        until(lambda: self.once(pawld).returncode == 1, "a verdict without a majority")
        self.assertIn("grants no lock: ", self.once(pawld).stdout)

    def test_what_is_wrong_with_all_masters_is_told_once(self):
        fleet = Forgetful()
        self.addCleanup(fleet.end)
        pawld = self.pawld(*fleet.options(), data=False)
        told = lambda: [line for line in self.once(pawld).stdout.split("\n") if ": no-aof: " in line]
        until(lambda: any(line.count("redis://") == 3 for line in told()), "a finding of three masters")
        self.assertEqual(len(told()), 1)

    def test_terminal_that_can_show_nothing_gets_the_same(self):
        pawld = self.pawld()
        top = self.top(pawld.url, TERM="dumb")
        self.assertEqual(top.wait(), 0)
        self.assertNotIn(b"\x1b", top.output)
        self.assertIn(b"0 LOCKS held", top.output)

    def test_wrong_words_are_refused(self):
        pawld = self.pawld()
        self.assertIn("takes one prefix", self.once(pawld, "a", "b").stderr)
        self.assertIn("this command does not accept --json", self.once(pawld, "--json").stderr)


if __name__ == "__main__":
    unittest.main()
