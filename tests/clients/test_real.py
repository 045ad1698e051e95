"""A client with a real pawld over three real Redis masters, through its driver. usage: test_real.py COMMAND..."""

import os
import ssl
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../system/client"))
from python_service import Case, certificate, first  # noqa: E402
from suite import Driver  # noqa: E402

COMMAND = sys.argv[1:]
TTL_MS = 1500
LONG_MS = 20000
CALL_MS = 15000
LONGEST_MS = 120000  # no machine is so busy that it ends


class Real(Case):
    def setUp(self):
        super().setUp()
        self.driver = self.drive(self.service.url)

    def drive(self, url, environment=None, call_ms=CALL_MS):
        driver = Driver(COMMAND, environment)
        self.addCleanup(driver.end)
        self.assertEqual(driver.ask("client", call_ms, url)[0], "ok")
        return driver

    def ask(self, *words, kind="ok", driver=None):
        got, value, text = (driver or self.driver).ask(*words)
        if got == "none":
            self.skipTest(text)
        self.assertEqual(got, kind, (words, value, text))
        return value

    def break_held(self):
        with urllib.request.urlopen(f"{self.service.url}/v1/locks/{self.name}") as answer:
            token = answer.read().partition(b'"token":')[2].partition(b",")[0].decode()
        self.break_lock(token)

    def test_lock_is_renewed_and_released(self):
        token = int(self.ask("acquire", 0, TTL_MS, "worker-7", self.name))
        self.ask("renew")
        time.sleep(2.5)
        self.assertGreater(int(self.ask("left")), 0)
        self.assertEqual(self.ask("inspect", self.name), f"held {token} worker-7")
        self.expect_held()
        self.assertEqual(self.ask("release"), "true")
        self.expect_free()

    def test_tokens_rise(self):
        tokens = []
        for _ in range(3):
            tokens.append(int(self.ask("acquire", 0, LONG_MS, "-", self.name)))
            self.ask("release")
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_broken_lock_is_told(self):
        self.ask("acquire", 0, TTL_MS, "-", self.name)
        self.ask("renew")
        self.break_held()
        self.assertEqual(int(self.ask("stopped")), 0)
        self.assertEqual(int(self.ask("left")), 0)
        self.expect_free()

    def test_lost_answer_leaves_one_lock(self):
        relay = self.relay(first("POST", lambda answer: b""))
        self.ask("acquire", 0, LONG_MS, "-", self.name, driver=(driver := self.drive(relay.url)))
        self.assertEqual(self.ask("release", driver=driver), "true")
        self.expect_free()

    def test_stopped_holder_knows(self):
        self.ask("acquire", 0, TTL_MS, "-", self.name)
        self.ask("renew")
        self.driver.sleep(TTL_MS / 1000 + 0.2)
        self.assertEqual(int(self.ask("left")), 0)

    def test_group_is_held_all_or_none(self):
        names = [f"{self.name}/{at}" for at in range(4)]
        self.assertEqual(len(self.ask("acquire", 0, LONG_MS, "-", *names).split()), 4)
        self.ask("extend", LONG_MS)
        self.expect_held(names[3])
        self.assertEqual(self.ask("release"), "true")
        self.expect_free(names[3])

    def test_semaphore_has_a_seat_for_each_permit(self):
        other = self.drive(self.service.url)
        seats = {self.ask("seat", 0, LONG_MS, 2, self.name).split()[0],
                 self.ask("seat", 0, LONG_MS, 2, self.name, driver=other).split()[0]}
        self.assertEqual(seats, {"0", "1"})
        self.ask("seat", 0, LONG_MS, 2, self.name, kind="held", driver=self.drive(self.service.url))
        self.assertEqual(self.ask("release"), "true")
        self.ask("release", driver=other)

    def test_readers_share_and_a_writer_excludes_them(self):
        other, writer = self.drive(self.service.url), self.drive(self.service.url)
        self.ask("rwlock", 0, LONGEST_MS, "read", self.name)
        self.ask("rwlock", 0, LONGEST_MS, "read", self.name, driver=other)
        self.ask("extend", LONGEST_MS)
        self.ask("rwlock", 0, LONGEST_MS, "write", self.name, kind="held", driver=writer)
        self.assertEqual([self.ask("release"), self.ask("release", driver=other)], ["true", "true"])
        self.ask("rwlock", LONG_MS, LONGEST_MS, "write", self.name, driver=writer)
        self.ask("extend", LONGEST_MS, driver=writer)
        self.ask("rwlock", 0, LONGEST_MS, "read", self.name, kind="held")
        self.assertEqual(self.ask("release", driver=writer), "true")

    def test_name_stays_closed(self):
        other = self.drive(self.service.url)
        self.ask("delayed", 5000, LONGEST_MS, self.name)
        self.assertEqual(self.ask("keep", LONGEST_MS), "true")
        self.assertEqual(self.ask("left"), "0")
        self.ask("acquire", 0, TTL_MS, "-", self.name, kind="held", driver=other)

    def test_counter_goes_up(self):
        before = int(self.ask("counter", 1, self.name))
        self.assertEqual(int(self.ask("counter", 5, self.name)), before + 5)

    def test_watch_tells_of_a_grant(self):
        self.ask("acquire", 0, TTL_MS, "b", self.name)
        self.assertRegex(self.ask("watch", "-", 2, self.name), "^held [0-9]+ b, free$")

    def test_certificate_has_to_be_trusted(self):
        files = certificate(self.fleet.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        relay = self.relay(lambda method, before: None, context)
        trusting = self.drive(relay.url, {"PAWL_CA_FILE": files[0]})
        self.ask("acquire", 0, LONG_MS, "-", self.name, driver=trusting)
        self.ask("release", driver=trusting)
        self.ask("acquire", 0, LONG_MS, "-", self.name, kind="unavailable",
                 driver=self.drive(relay.url, call_ms=2000))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
