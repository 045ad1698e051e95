"""Which server a caller asks that names none, on a machine of its own: /run, and loopback, are another's there.

usage: test_default_server.py PAWL     (the path of the program; pawld is beside it)

pawld is started as systemd does it: RUNTIME_DIRECTORY says where its socket goes. It serves there and on loopback.
Exit status: 77 where this user may make no such machine."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PYTHON = ROOT / "api/client/python"
NODE = ROOT / "api/client/node/pawl.mjs"
SOCKET = "unix:/run/pawl/pawld.sock"
LOOPBACK = "http://127.0.0.1:7380"
SKIPPED = 77
PATIENCE_S = 20
NOBODY = 65534

MACHINE = ["unshare", "--mount", "--net", "--map-root-user"]
ASK_PYTHON = "import pawl; c = pawl.Client(); c.acquire('p', wait=0).release(); print(*c._urls)"
ASK_NODE = (f"import {{ Client }} from '{NODE}'; const c = new Client(); const l = await c.acquire('n', {{ waitMs: 0 }});"
            "await l.release(); console.log('done')")


def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


class DefaultServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.pawld = None

    @classmethod
    def tearDownClass(cls):
        cls.end_pawld()
        shutil.rmtree(cls.folder)

    @classmethod
    def end_pawld(cls):
        if cls.pawld is not None:
            cls.pawld.kill()
            cls.pawld.wait()
            cls.pawld = None
        shutil.rmtree("/run/pawl", ignore_errors=True)

    def serve(self, *options, runtime="/run/pawl"):
        self.end_pawld()
        os.makedirs("/run/pawl", exist_ok=True)
        log = pathlib.Path(self.folder) / "log"
        with open(log, "w", encoding="utf-8") as out:
            type(self).pawld = subprocess.Popen(
                [pathlib.Path(PAWL).parent / "pawld", "--data", f"{self.folder}/data", *options], stderr=out,
                env={**os.environ, "RUNTIME_DIRECTORY": runtime})
        end = time.monotonic() + PATIENCE_S
        while " votes" not in log.read_text() and self.pawld.poll() is None:
            self.assertLess(time.monotonic(), end, log.read_text())
            time.sleep(0.01)
        return log.read_text()

    def said(self, *command, env=None, user=None):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                              env={**os.environ, **(env or {})}, preexec_fn=user)
        return (done.stdout + done.stderr).strip()

    def server_of(self, env=None, user=None):
        """Where `pawl lock` asks, by what its command sees."""
        return self.said(PAWL, "lock", "a", "--", "sh", "-c", 'echo "$PAWL_SERVER"', env=env, user=user).splitlines()[0]

    def test_pawld_of_systemd_listens_on_loopback_and_at_its_socket(self):
        log = self.serve()
        self.assertIn("listening on 127.0.0.1:7380\n", log)
        self.assertIn(f"listening on {SOCKET}\n", log)
        self.assertEqual(stat.S_IMODE(os.stat("/run/pawl/pawld.sock").st_mode), 0o660)

    def test_first_of_several_folders_has_the_socket(self):
        self.assertIn(f"listening on {SOCKET}\n", self.serve(runtime="/run/pawl:/run/other"))

    def test_path_that_is_too_long_for_a_socket_is_left_out(self):
        self.assertNotIn("unix:", self.serve(runtime="/run/" + "x" * 120))

    def test_listen_replaces_both(self):
        log = self.serve("--listen", "127.0.0.1:7381")
        self.assertIn("listening on 127.0.0.1:7381\n", log)
        self.assertNotIn("7380", log)
        self.assertNotIn("unix:", log)

    def test_each_client_asks_at_the_socket(self):
        self.serve("--listen", SOCKET)  # and nowhere else
        self.assertEqual(self.server_of(), SOCKET)
        self.assertEqual(self.said(sys.executable, "-c", ASK_PYTHON, env={"PYTHONPATH": str(PYTHON)}), SOCKET)
        if shutil.which("node"):
            self.assertEqual(self.said("node", "--input-type=module", "-e", ASK_NODE), "done")

    def test_each_client_asks_on_loopback_without_a_socket(self):
        self.serve("--listen", "127.0.0.1:7380")
        self.assertEqual(self.server_of(), LOOPBACK)
        self.assertEqual(self.said(sys.executable, "-c", ASK_PYTHON, env={"PYTHONPATH": str(PYTHON)}), LOOPBACK)
        if shutil.which("node"):
            self.assertEqual(self.said("node", "--input-type=module", "-e", ASK_NODE), "done")

    @unittest.skipUnless(os.environ.get("PAWL_TEST_USERS"), "this machine has one user")
    def test_user_who_may_not_connect_asks_on_loopback(self):
        self.serve()
        self.assertEqual(self.server_of(user=as_nobody), LOOPBACK)

    def test_server_that_is_named_is_asked(self):
        named = "http://127.0.0.1:7382"
        self.serve("--listen", SOCKET, "--listen", "127.0.0.1:7382")
        self.assertEqual(self.server_of(env={"PAWL_SERVER": named}), named)


def enter():
    """This program again, on a machine of its own. Only root can make one with several users."""
    machine = MACHINE[:-1] if os.geteuid() == 0 else MACHINE
    if subprocess.run([*machine, "true"], capture_output=True, check=False).returncode != 0:
        print("may make no namespaces: skipped")
        sys.exit(SKIPPED)
    users = {"PAWL_TEST_USERS": "1"} if os.geteuid() == 0 else {}
    prepare = "mount -t tmpfs tmpfs /run && ip link set lo up && exec \"$@\""
    os.execvpe(machine[0], [*machine, "sh", "-c", prepare, "sh", sys.executable, "-B", *sys.argv],
               {**os.environ, **users, "PAWL_TEST_MACHINE": "1"})


if __name__ == "__main__":
    if "PAWL_TEST_MACHINE" not in os.environ:
        enter()
    PAWL = os.path.abspath(sys.argv.pop(1))
    for name in ("PAWL_SERVER", "PAWL_KEY", "PAWL_TEST_MACHINE"):
        os.environ.pop(name, None)
    unittest.main()
