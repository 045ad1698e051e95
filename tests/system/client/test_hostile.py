"""Answers of a server that lies, and what pawl shows of them. tests/clients has what the clients make of them.
usage: test_hostile.py PAWL"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients"))
from hostile import CASES, HostileServer  # noqa: E402

PAWL = sys.argv[1] if len(sys.argv) > 1 else None
ODD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
URLS = ("http://user:hunter2@127.0.0.1:1", "https://user:hunter2@[::1", "user:hunter2@host",
        "http://user:hun/ter2hunter2@host", "ftp://user:hunter2@host:x/", "http://127.0.0.1:hunter2@x:99999")


class CommandLine(unittest.TestCase):
    def test_no_control_character_is_shown(self):
        server = HostileServer()
        self.addCleanup(server.stop)
        for case in CASES:
            if not case["name"].startswith(("text-", "head-")) or case["kind"] == "unavailable":
                continue
            for words in (["acquire", case["name"], "--nonblock", "--ttl=5s"],
                          ["show", case["name"]], ["watch", "--until=held", case["name"]]):
                if (case["call"] == "watch") != (words[0] == "watch"):
                    continue
                done = subprocess.run([PAWL, "--server", server.url] + words, capture_output=True,
                                      timeout=60, check=False)
                shown = (done.stdout + done.stderr).decode("utf-8", "replace")
                self.assertIsNone(ODD.search(shown), f"{words}: {shown!r}")
                expected = (0,) if words[0] == "watch" else (1, 123, 124, 125)
                self.assertIn(done.returncode, expected, (words, done))

    def test_no_password_of_a_url_is_shown(self):
        for url in URLS:
            for words, env in ((["--server", url], {}), ([], {"PAWL_SERVER": url})):
                done = subprocess.run([PAWL] + words + ["fleet"], capture_output=True, timeout=60,
                                      check=False, env={**os.environ, **env})
                self.assertNotIn(b"hunter2", done.stdout + done.stderr)
                self.assertEqual(done.returncode, 125, done)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
