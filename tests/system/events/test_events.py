"""GET /v1/events: what clients of a real pawld are told, also through HAProxy."""

import os
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest

from stream import (BIN, PATIENCE, Fleet, Pawld, Process, Stream, free_port, listens, until)

HEARTBEAT_S = 15
READERS = 1024
BACKLOG = 8192
KEPT_BYTES = 4 * 1024 * 1024
LOCK_ID = "A" * 27


class Case(unittest.TestCase):
    def pawld(self, *options, **how):
        pawld = Pawld(*options, **how)
        self.addCleanup(pawld.end)
        return pawld

    def follow(self, pawld, query="", **headers):
        stream = Stream(pawld.port, query, **headers)
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200)
        return stream


class WhatHappens(Case):
    def test_life_of_a_lock_is_told(self):
        pawld = self.pawld()
        stream = self.follow(pawld)
        first = stream.expect("fleet", state="ready")
        self.assertTrue(first.server.endswith(f":{pawld.port}"), first)
        grant = pawld.acquire("orders/42", owner="worker-7", ttl_ms=60000, lock_id=LOCK_ID)
        event = stream.expect("granted", resource="orders/42", token=grant["token"], owner="worker-7")
        self.assertRegex(event.at, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertLessEqual(event.validity_ms, 60000)
        pawld.acquire("orders/42", lock_id=LOCK_ID)  # a retry is nothing new
        pawld.call("POST", "/v1/locks/orders/42", {"owner": "worker-8"})
        stream.expect("refused", resource="orders/42", owner="worker-8", holder="worker-7",
                      reason="held", token=None)
        pawld.call("PATCH", "/v1/locks/orders/42", {"ttl_ms": 90000}, Lock_Id=LOCK_ID,
                   Fencing_Token=grant["token"])
        stream.expect("extended", resource="orders/42", token=grant["token"], owner="worker-7")
        waiter = threading.Thread(target=pawld.call, args=(
            "POST", "/v1/locks/orders/42", {"owner": "worker-9", "wait_ms": 20000, "ttl_ms": 300}))
        waiter.start()
        stream.expect("waiting", resource="orders/42", owner="worker-9")
        second = threading.Thread(target=pawld.call, args=(
            "POST", "/v1/locks/orders/42", {"owner": "worker-10", "wait_ms": 1}))
        second.start()
        stream.expect("waiting", resource="orders/42", owner="worker-10")
        stream.expect("refused", reason="wait-timeout", owner="worker-10")
        pawld.release(grant)
        stream.expect("released", resource="orders/42", token=grant["token"], owner="worker-7")
        granted = stream.expect("granted", owner="worker-9")
        self.assertGreater(granted.token, grant["token"])
        waiter.join(), second.join()
        stream.expect("expired", resource="orders/42", token=granted.token, owner="worker-9")
        self.assertNotIn(LOCK_ID.encode(), stream.bytes)
        self.assertNotIn(b"lock_id", stream.bytes)

    def test_lock_that_is_broken_is_told_and_its_holder_loses_it(self):
        pawld = self.pawld()
        stream = self.follow(pawld, "?prefix=a")
        stream.expect("fleet")
        grant = pawld.acquire("a", owner="me")
        token = grant["token"]
        stream.expect("granted", token=token)
        pawld.call("DELETE", "/v1/locks/a?force=true", If_Match=f'"{token}"')
        stream.expect("broken", resource="a", token=token)
        pawld.call("PATCH", "/v1/locks/a", Lock_Id=grant["lock_id"], Fencing_Token=token)
        stream.expect("lost", resource="a", token=token, reason="lock-broken")

    def test_seats_and_locks_of_a_group_are_told_one_by_one(self):
        pawld = self.pawld()
        stream = self.follow(pawld)
        stream.expect("fleet")
        pawld.call("POST", "/v1/locks", {"resources": ["a", "b"], "owner": "me"})
        one, other = stream.expect("granted", resource="a"), stream.expect("granted", resource="b")
        self.assertEqual((one.owner, other.owner), ("me", "me"))
        pawld.call("POST", "/v1/semaphores/imports", {"permits": 2})
        self.assertRegex(stream.expect("granted").resource, r"^imports#[01]$")

    def test_masters_and_the_fleet_are_told(self):
        fleet = Fleet()
        self.addCleanup(fleet.end)
        pawld = self.pawld("--probe-ms", "50", *fleet.options(), data=False)
        stream = self.follow(pawld, "?prefix=none")
        stream.expect("fleet", state="ready")
        fleet.processes[0].kill()
        event = stream.expect("master", master=1)
        self.assertNotEqual(event.state, "active")
        self.assertIn(str(fleet.ports[0]), event.address)
        fleet.processes[1].kill()
        while event.name != "fleet":
            event = stream.next()
        self.assertEqual(event.state, "not-ready")

    def test_prefix_limits_the_names(self):
        pawld = self.pawld()
        own, orders, all_names = (self.follow(pawld, query) for query in
                                  ("?prefix=orders/1", "?prefix=orders/", ""))
        for stream in own, orders, all_names:
            stream.expect("fleet")
        for name in "jobs/1", "orders/2", "orders/1":
            pawld.acquire(name)
        own.expect("granted", resource="orders/1")
        for name in "orders/2", "orders/1":
            orders.expect("granted", resource=name)
        for name in "jobs/1", "orders/2", "orders/1":
            all_names.expect("granted", resource=name)
        self.assertEqual(pawld.call("GET", "/v1/events?prefix=a//b")[0], 400)
        self.assertEqual(pawld.call("GET", "/v1/events?name=a")[0], 400)

    def test_all_workers_are_in_one_stream(self):
        pawld = self.pawld("--workers", "2")
        stream = self.follow(pawld)
        stream.expect("fleet")
        for i in range(16):  # each on a connection of its own, at one of the workers
            pawld.acquire(f"orders/{i}")
        names = {stream.expect("granted").resource for _ in range(16)}
        self.assertEqual(len(names), 16)


class ComingAgain(Case):
    def test_client_misses_nothing_that_is_kept(self):
        pawld = self.pawld()
        stream = self.follow(pawld)
        stream.expect("fleet")
        pawld.acquire("a")
        stream.expect("granted", resource="a")
        stream.close()
        pawld.acquire("b")
        again = self.follow(pawld, Last_Event_ID=stream.last_id)
        again.expect("granted", resource="b")
        in_query = self.follow(pawld, "?after=" + stream.last_id)
        in_query.expect("granted", resource="b")
        pawld.acquire("c")
        for each in again, in_query:
            each.expect("granted", resource="c")

    def test_restart_makes_a_gap(self):
        pawld = self.pawld()
        stream = self.follow(pawld)
        stream.expect("fleet")
        pawld.acquire("a")
        stream.expect("granted")
        pawld.tell(signal.SIGKILL)
        pawld.wait()
        pawld.start()
        other = self.follow(pawld)
        other.expect("fleet")
        for name in "b", "c", "d":  # the new process has an event of the same number
            pawld.acquire(name)
            other.expect("granted", resource=name)
        again = self.follow(pawld, Last_Event_ID=stream.last_id)
        again.expect("gap", reason="unknown-id")
        again.expect("fleet", state="ready")
        for id in "x", "0-1", stream.last_id + "0", again.last_id + "9":
            self.follow(pawld, Last_Event_ID=id).expect("gap", reason="unknown-id")

    def test_overflow_makes_a_gap(self):
        pawld = self.pawld()
        stream = self.follow(pawld)
        first = stream.expect("fleet")
        pawld.acquire("a")
        stream.close()
        pawld.flood(KEPT_BYTES // 400)
        again = self.follow(pawld, Last_Event_ID=first.id)
        again.expect("gap", reason="unknown-id")
        again.expect("fleet")

    def curl(self, pawld, name):
        """A curl that writes what it reads to a file of this name."""
        path = pawld.path(name)
        with open(path, "wb") as output:
            curl = subprocess.Popen(["curl", "-sN", f"http://127.0.0.1:{pawld.port}/v1/events"],
                                    stdout=output)
        self.addCleanup(curl.wait), self.addCleanup(curl.kill)

        def read():
            with open(path, "rb") as file:
                return file.read()
        until(lambda: b"event: fleet" in read(), "the first event")
        return curl, read

    def test_client_that_does_not_read_is_cut_and_costs_nobody_else(self):
        pawld = self.pawld()
        events = BACKLOG + 2000
        _, reader = self.curl(pawld, "reader")
        deaf, deaf_read = self.curl(pawld, "deaf")
        deaf.send_signal(signal.SIGSTOP)
        pawld.flood(events)
        until(lambda: reader().count(b"event: granted") == events, "each event")
        self.assertNotIn(b"event: gap", reader())
        until(lambda: pawld.metric("pawl_event_readers") == 1, "the end of the stream")
        self.assertEqual(pawld.metric("pawl_event_readers_cut_total"), 1)
        deaf.send_signal(signal.SIGCONT)
        self.assertNotEqual(deaf.wait(PATIENCE), 0)  # it can tell that the stream was cut
        self.assertLess(deaf_read().count(b"event: granted"), events)

    @unittest.skipIf(os.environ.get("PAWL_SANITIZE"), "sanitizers keep memory that was freed")
    def test_clients_that_are_stopped_take_no_memory_and_no_event_of_others(self):
        pawld = self.pawld("--workers", "1")
        _, reader = self.curl(pawld, "reader")
        stopped = [self.curl(pawld, f"stopped-{i}")[0] for i in range(8)]
        before = pawld.resident_bytes()
        for each in stopped:
            each.send_signal(signal.SIGSTOP)
        pawld.flood(2 * KEPT_BYTES // 500)
        until(lambda: pawld.metric("pawl_event_readers") == 1, "the end of those that are stopped")
        self.assertEqual(pawld.metric("pawl_event_readers_cut_total"), len(stopped))
        self.assertLess(pawld.resident_bytes() - before, 4 * KEPT_BYTES)  # half of one copy for each
        grant = pawld.acquire("last")
        until(lambda: b'"resource":"last"' in reader(), "the last event")
        self.assertNotIn(b"event: gap", reader())
        pawld.release(grant)

class WhoMayFollow(Case):
    def keyed(self):
        pawld = self.pawld()
        pawld.tell(signal.SIGTERM)
        pawld.wait()
        keys = {}
        for name, options in (("reader", "--role read --prefix orders/"),
                              ("admin", "--role admin --prefix *")):
            made = subprocess.run([os.path.join(BIN, "pawl"), "key", "new", "--id", name, "--file",
                                   pawld.path("keys"), *options.split()], check=True,
                                  timeout=PATIENCE, stdout=subprocess.PIPE, text=True)
            keys[name] = "Bearer " + made.stdout.strip()
        pawld.options += ("--keys", pawld.path("keys"))
        pawld.start()
        return pawld, keys

    def test_key_reads_within_its_prefixes(self):
        pawld, keys = self.keyed()
        status = lambda query, **headers: Stream(pawld.port, query, **headers).status
        self.assertEqual(status(""), 401)
        self.assertEqual(status("", Authorization=keys["reader"]), 403)
        self.assertEqual(status("?prefix=jobs/", Authorization=keys["reader"]), 403)
        stream = self.follow(pawld, "?prefix=orders/", Authorization=keys["reader"])
        stream.expect("fleet")
        for name in "jobs/1", "orders/1":
            pawld.call("POST", "/v1/locks/" + name, {}, Authorization=keys["admin"])
        stream.expect("granted", resource="orders/1")

    def test_streams_end_when_the_keys_are_read_again(self):
        pawld, keys = self.keyed()
        stream = self.follow(pawld, "?prefix=orders/", Authorization=keys["reader"])
        stream.expect("fleet")
        with open(pawld.path("keys")) as file:
            lines = [line for line in file if "reader" not in line]
        with open(pawld.path("keys"), "w") as file:
            file.writelines(lines)
        pawld.tell(signal.SIGHUP)
        self.assertIsNone(stream.next())
        again = Stream(pawld.port, "?prefix=orders/", Authorization=keys["reader"])
        self.assertEqual(again.status, 401)

    def follow_many(self, pawld, query):
        """READERS streams, each with a query made of its number. None of them is read."""
        streams = []
        for i in range(READERS):
            streams.append(socket.create_connection(("127.0.0.1", pawld.port), PATIENCE))
            streams[-1].sendall(f"GET /v1/events{query.format(i)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until(lambda: pawld.metric("pawl_event_readers") == READERS, "so many readers")
        return streams

    def many_descriptors(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 2 * READERS:
            self.skipTest(f"{hard} descriptors are too few")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * READERS), hard))

    def test_readers_are_bounded(self):
        self.many_descriptors()
        pawld = self.pawld("--workers", "1")
        streams = self.follow_many(pawld, "")
        status, problem = pawld.call("GET", "/v1/events")
        self.assertEqual((status, problem["type"]), (429, "urn:pawl:busy"))
        self.assertEqual(pawld.metric("pawl_event_readers_max"), READERS)
        for each in streams:
            each.close()
        until(lambda: pawld.metric("pawl_event_readers") == 0, "the end of all of them")
        self.follow(pawld).expect("fleet")

    def test_readers_are_a_quarter_of_the_connections(self):
        pawld = self.pawld("--workers", "1", "--max-connections", "64")
        most = pawld.metric("pawl_connections_max") // 4
        self.assertEqual(pawld.metric("pawl_event_readers_max"), most)
        streams = [self.follow(pawld) for _ in range(most)]
        self.assertEqual(pawld.call("GET", "/v1/events")[0], 429)
        self.assertEqual(pawld.acquire("a")["token"], 1)  # others find room
        streams[0].close()
        until(lambda: pawld.metric("pawl_event_readers") < most, "the end of one")
        self.follow(pawld).expect("fleet")

    @unittest.skipIf(os.environ.get("PAWL_SANITIZE"), "sanitizers are too slow for so many events")
    def test_many_readers_of_quiet_names_get_no_gap(self):
        self.many_descriptors()
        pawld = self.pawld("--workers", "1")
        streams = self.follow_many(pawld, "?prefix=quiet/{}")
        pawld.flood(2 * KEPT_BYTES // 500)  # twice what the ring keeps
        pawld.acquire("quiet/7")
        text = b""
        while b"event: granted" not in text:
            text += streams[7].recv(65536)
        for each in streams[:READERS // 2]:
            each.setblocking(False)
            try:
                text += each.recv(65536)
            except BlockingIOError:
                pass
            each.close()
        self.assertEqual(text.count(b"event: gap"), 0)
        self.assertEqual(pawld.metric("pawl_events_missed_total"), 0)
        for each in streams[READERS // 2:]:
            each.close()


class OverHttp(Case):
    def test_head_and_pages_of_others(self):
        pawld = self.pawld("--cors-origin", "https://app.example.com")
        stream = self.follow(pawld, Origin="https://app.example.com")
        fields = {name.lower(): value for name, value in stream.response.getheaders()}
        self.assertEqual(fields["content-type"], "text/event-stream")
        self.assertEqual(fields["cache-control"], "no-store")
        self.assertEqual(fields["x-accel-buffering"], "no")
        self.assertEqual(fields["access-control-allow-origin"], "https://app.example.com")
        elsewhere = self.follow(pawld, Origin="https://example.com")
        self.assertIsNone(elsewhere.response.getheader("access-control-allow-origin"))
        self.assertEqual(pawld.call("HEAD", "/v1/events"), (200, ""))
        self.assertEqual(pawld.call("POST", "/v1/events", {})[0], 405)
        self.assertEqual(pawld.call("GET", "/v1/events", Host="pawl.example.com")[0], 403)
        batch = {"requests": [{"method": "GET", "path": "/v1/events"}]}
        self.assertEqual(pawld.call("POST", "/v1/batch", batch)[0], 400)

    def test_http_1_0_is_served_without_chunks(self):
        pawld = self.pawld()
        with socket.create_connection(("127.0.0.1", pawld.port), PATIENCE) as client:
            client.sendall(b"GET /v1/events HTTP/1.0\r\n\r\n")
            text = b""
            while b"\n\n" not in text:
                text += client.recv(4096)
        self.assertNotIn(b"chunked", text)
        self.assertIn(b"\r\n\r\nevent: fleet\n", text)

    def test_clients_that_leave_are_forgotten(self):
        pawld = self.pawld()
        for _ in range(5):
            Stream(pawld.port).close()
        until(lambda: pawld.metric("pawl_event_readers") == 0, "the end of all")
        self.assertEqual(pawld.metric("pawl_event_readers_cut_total"), 0)

    def test_streams_end_whole_when_the_process_drains(self):
        pawld = self.pawld()
        stream = self.follow(pawld)
        stream.expect("fleet")
        begun = time.monotonic()
        pawld.tell(signal.SIGTERM)
        self.assertIsNone(stream.next())  # http.client fails where the last chunk is missing
        self.assertEqual(pawld.wait(), 0)
        self.assertLess(time.monotonic() - begun, 5)
        with open(pawld.log) as log:
            self.assertNotIn("http:", log.read())

    def test_haproxy_passes_events_and_heartbeats_on(self):
        pawld = self.pawld()
        port = free_port()
        with open(pawld.path("haproxy.cfg"), "w") as file:
            file.write(f"""defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 20s
listen pawld
    bind 127.0.0.1:{port}
    server one 127.0.0.1:{pawld.port}
""")
        proxy = Process(["haproxy", "-q", "-db", "-f", pawld.path("haproxy.cfg")], pawld.path("proxy"))
        self.addCleanup(proxy.kill)
        until(lambda: listens(port), "the proxy")
        stream = Stream(port)
        self.addCleanup(stream.close)
        stream.expect("fleet")
        pawld.acquire("a")
        stream.expect("granted", resource="a")
        begun = time.monotonic()
        timer = threading.Timer(HEARTBEAT_S + 2, pawld.acquire, ("b",))
        timer.start()
        stream.expect("granted", resource="b")
        timer.join()
        self.assertEqual(stream.heartbeats, 1)
        self.assertGreater(time.monotonic() - begun, HEARTBEAT_S)


if __name__ == "__main__":
    unittest.main()
