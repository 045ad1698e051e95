"""The Python client against a real fleet: answers that are lost or late, and locks that are."""

import signal
import ssl
import threading
import time
import unittest
import unittest.mock

from python_service import (EXTENSIONS_MAX, PATIENCE, Case, Listener, certificate, first, pawl,
                            read_request, until)


def nothing(answer):
    return b""


class Hasty(Listener):
    """Says at once that a lock is free, also where it is to wait for a change. Has no answer to
    later requests than the first @answers."""

    def __init__(self, answers=1000):
        self.requests = 0
        self.answers = answers
        super().__init__()

    def serve(self, connection):
        read_request(connection)
        self.requests += 1
        if self.requests <= self.answers:
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"held": false}')


class Acquiring(Case):
    def test_lock_has_a_token_that_rises(self):
        with self.client.lock(self.name, ttl=5) as lock:
            self.assertTrue(lock.held)
            self.assertTrue(0 < lock.left() < 5)
            self.expect_held()
        with self.client.lock(self.name, ttl=5) as later:
            self.assertGreater(later.token, lock.token)
            self.assertNotEqual(later.lock_id, lock.lock_id)
        self.expect_free()

    def test_interrupted_acquisition_leaves_no_lock(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def interrupted(answer):  # the lock is taken, and the answer on its way
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            go_on.wait(PATIENCE)
            return b""
        relay = self.relay(first("POST", interrupted))
        with self.assertRaises(KeyboardInterrupt):
            pawl.Client(relay.url, call_timeout=60).acquire(self.name, ttl=30, wait=0)
        self.expect_free()

    def test_error_of_a_signal_handler_ends_a_wait(self):
        class Alarm:
            def __call__(self, number, frame):
                raise TimeoutError("the work took too long")

        self.addCleanup(signal.signal, signal.SIGALRM, signal.getsignal(signal.SIGALRM))
        held = self.client.acquire(self.name, ttl=5)
        for handler in (Alarm(), Alarm().__call__, lambda *_: Alarm()(0, None)):
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with self.assertRaisesRegex(TimeoutError, "the work took too long"):
                pawl.Client(self.client._servers[0].url).acquire(self.name, wait=2)
        held.release()
        self.expect_free()

    def test_server_is_asked_over_tls_where_its_certificate_is_trusted(self):
        cert, key = certificate(self.fleet.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        relay = self.relay(lambda method, before: None, context)
        with self.assertRaisesRegex(pawl.Unavailable, "certificate"):
            pawl.Client(relay.url, call_timeout=0.5).acquire(self.name)
        self.assertEqual(relay.requests, [])
        trusting = ssl.create_default_context(cafile=cert)
        with pawl.Client(relay.url, ssl_context=trusting).lock(self.name, wait=0) as lock:
            self.assertTrue(lock.held)
            self.expect_held()
        self.assertEqual(len(relay.requests), 2)

    def test_holder_is_named_to_others(self):
        with self.client.lock(self.name, ttl=5, owner="worker-7"):
            with self.assertRaises(pawl.Held) as caught:
                self.client.acquire(self.name, wait=0)
            self.assertEqual(caught.exception.owner, "worker-7")
            self.assertEqual(caught.exception.name, self.name)
            self.assertTrue(0 < caught.exception.retry_after < 5)

    def test_wait_ends_with_the_lock_or_with_held(self):
        lock = self.client.acquire(self.name, ttl=20)
        told = []
        with self.assertRaises(pawl.Held):
            self.client.acquire(self.name, wait=0.3)
        threading.Timer(0.3, lock.release).start()
        with self.client.lock(self.name, ttl=5, wait=PATIENCE, on_wait=told.append) as later:
            self.assertGreater(later.token, lock.token)
        self.assertEqual([type(held) for held in told], [pawl.Held])
        self.assertFalse(lock.held)

    def test_several_names_are_held_all_or_none(self):
        names = [self.name, self.name + "/b", self.name + "/c~:@.d"]
        with self.client.lock(names, ttl=3) as lock:
            self.assertEqual(sorted(lock.tokens), sorted(names))
            time.sleep(4)
            lock.check()
            with self.assertRaises(pawl.Held) as caught:
                self.client.acquire(self.name + "/d", names[1], wait=0)
            self.assertEqual(caught.exception.name, names[1])
            self.expect_free(self.name + "/d")
            with self.assertRaises(pawl.Invalid):
                lock.token
        for name in names:
            self.expect_free(name)

    def test_states_of_a_watched_lock_are_told_as_they_change(self):
        watch = self.client.watch(self.name)
        self.assertEqual(next(watch), (False, None, None))
        lock = self.client.acquire(self.name, ttl=5, owner="worker-7")
        self.assertEqual(next(watch), pawl.State(True, lock.token, "worker-7"))
        threading.Timer(0.3, lock.release).start()
        self.assertEqual(next(watch), pawl.State(False, None, None))

    def test_watch_is_closed_by_another_thread(self):
        watch = self.client.watch(self.name)
        next(watch)
        threading.Timer(0.3, watch.close).start()
        self.assertEqual(list(watch), [])
        self.assertEqual(list(watch), [])

    def test_watch_looks_anew_before_a_proxy_cuts(self):
        relay = self.relay(lambda method, before: None)
        with unittest.mock.patch.object(pawl, "_WATCH_STEP", 0.4):
            self.assertEqual(len(list(pawl.Client(relay.url).watch(self.name, wait=1))), 1)
        self.assertTrue(3 <= len(relay.requests) <= 5, relay.requests)

    def test_watch_that_was_answered_outlives_the_call_timeout(self):
        def watch(answers):
            server = Hasty(answers)
            self.addCleanup(server.close)
            client = pawl.Client(f"http://{server.address}", call_timeout=0.2)
            began = time.monotonic()
            with self.assertRaisesRegex(pawl.Unavailable, f"cannot watch {self.name}: "):
                list(client.watch(self.name, wait=1.2))
            return time.monotonic() - began
        self.assertLess(watch(0), 0.9)
        self.assertGreater(watch(1), 1.1)

    def test_name_stays_closed_for_its_delay_and_for_what_a_release_keeps(self):
        lock = self.client.acquire(self.name, ttl=0.2, delay=0.5)
        began = pawl.now()
        self.client.acquire(self.name, wait=5).release()
        self.assertGreater(pawl.now() - began, 0.55)
        with self.client.lock(self.name, ttl=5) as lock:
            self.assertTrue(lock.release(keep=0.4))
        with self.assertRaises(pawl.Held):
            self.client.acquire(self.name, wait=0)
        self.client.acquire(self.name, wait=5).release()
        self.client.acquire(self.name, wait=0, delay=5).release()
        self.client.acquire(self.name, wait=0).release()
        for options in ({"delay": -1}, {"delay": "x"}, {"ttl": 200, "delay": 200}):
            with self.assertRaises(pawl.Invalid, msg=options):
                self.client.acquire(self.name, **options)

    def test_semaphore_has_a_seat_for_each_permit(self):
        with self.client.lock(self.name, ttl=5, permits=2) as lock:
            other = self.client.acquire(self.name, ttl=5, wait=0, permits=2)
            self.assertEqual({lock.seat, other.seat}, {0, 1})
            self.assertEqual(lock.names, (f"{self.name}#{lock.seat}",))
            self.assertGreater(other.token, lock.token)
            with self.assertRaises(pawl.Held):
                self.client.acquire(self.name, wait=0, permits=2)
            other.extend()
            self.assertTrue(other.release())
            self.client.acquire(self.name, ttl=5, wait=0, permits=2).release()
        self.assertIsNone(self.client.acquire(self.name, wait=0).seat)

    def test_readers_hold_together_and_a_writer_alone(self):
        with self.client.lock(self.name, ttl=5, mode="read") as reader:
            other = self.client.acquire(self.name, ttl=5, wait=0, mode="read")
            self.assertNotEqual(reader.seat, other.seat)
            with self.assertRaises(pawl.Held):
                self.client.acquire(self.name, wait=0, mode="write")
            other.extend()
            self.assertTrue(other.release())
        with self.client.lock(self.name, ttl=0.6, mode="write") as writer:
            self.assertEqual((writer.names, writer.seat), ((self.name,), None))
            self.assertGreater(writer.token, other.token)
            time.sleep(1)  # it is extended
            self.assertTrue(writer.held)
            with self.assertRaises(pawl.Held):
                self.client.acquire(self.name, wait=0, mode="read")
        later = self.client.acquire(self.name, ttl=5, wait=0, mode="read")
        self.assertGreater(later.token, writer.token)
        later.release()
        for options in ({"mode": "reads"}, {"mode": "read", "permits": 2}):
            with self.assertRaises(pawl.Invalid):
                self.client.acquire(self.name, **options)

    def test_writer_in_doubt_leaves_nothing(self):
        relay = self.relay(lambda method, before: nothing if method == "POST" else None)
        with self.assertRaises(pawl.Unavailable):
            pawl.Client(relay.url, call_timeout=0.5).acquire(self.name, ttl=30, wait=0,
                                                             mode="write")
        self.client.acquire(self.name, ttl=5, wait=0, mode="write").release()

    def test_semaphore_keeps_its_seat_where_an_answer_is_lost(self):
        relay = self.relay(first("POST", nothing))
        client = pawl.Client(relay.url)
        with client.lock(self.name, ttl=5, wait=0, permits=2) as lock:
            self.assertEqual(len(relay.requests), 2)
            other = self.client.acquire(self.name, ttl=5, wait=0, permits=2)
            self.assertNotEqual(lock.seat, other.seat)
            other.release()

    def test_wrong_arguments_are_refused(self):
        for names, options in (((), {}), (("",), {}), (("a" * 256,), {}), (("a", "a"), {}),
                               (("a",), {"ttl": 0}), (("a",), {"wait": -1}),
                               (("not a name",), {}), (("a",), {"ttl": 10 ** 6}),
                               (("a",), {"owner": "x" * 129})):
            with self.assertRaises(pawl.Invalid, msg=f"{names} {options}"):
                self.client.acquire(*names, **options)
        for server in ("nowhere", "ftp://a", "http://", "", "http://a..b", "http://h\u00f6st"):
            with self.assertRaises(pawl.Invalid, msg=server):
                pawl.Client([server])

    def test_arguments_of_a_wrong_type_are_errors_of_the_client(self):
        half = "\ud800"  # of a character
        for error, call in (
                (TypeError, lambda: self.client.acquire(7)),
                (TypeError, lambda: self.client.acquire(b"a")),
                (TypeError, lambda: self.client.acquire("a", ttl="30")),
                (TypeError, lambda: self.client.lock("a", wait="1")),
                (TypeError, lambda: self.client.lock("a", owner=7)),
                (TypeError, lambda: self.client.lock("a", on_wait=7)),
                (TypeError, lambda: pawl.Client(7)),
                (TypeError, lambda: pawl.Client([7])),
                (TypeError, lambda: pawl.Client(key=7)),
                (TypeError, lambda: pawl.Client(call_timeout="5")),
                (TypeError, lambda: pawl.Client(ssl_context=7)),
                (ValueError, lambda: self.client.lock("a", wait=float("nan"))),
                (ValueError, lambda: self.client.lock("a", ttl=10 ** 400)),
                (ValueError, lambda: self.client.lock(half)),
                (ValueError, lambda: self.client.lock("a", owner=half)),
                (ValueError, lambda: pawl.Client("http://" + "a" * 70))):
            with self.assertRaises(pawl.Invalid) as caught:
                call()
            self.assertIsInstance(caught.exception, error)
        with self.assertRaisesRegex(pawl.Invalid, "cannot acquire a: ttl is 0.05 seconds; it must"):
            self.client.acquire("a", ttl=0.05)

    def test_lock_of_another_thread_is_waited_for(self):
        with self.client.lock(self.name, ttl=5):
            got = []
            thread = threading.Thread(target=lambda: got.append(self.client.acquire(self.name)))
            thread.start()
            time.sleep(0.3)
            self.assertEqual([], got)
        thread.join(PATIENCE)
        got[0].release()


class Holding(Case):
    def test_lock_is_extended_while_the_block_runs(self):
        with self.client.lock(self.name, ttl=2) as lock:
            token = lock.token
            time.sleep(3)
            lock.check()
            self.assertEqual(lock.token, token)
            self.expect_held()

    def test_lock_outlives_its_server(self):
        with self.client.lock(self.name, ttl=10) as lock:
            deadline = lock.deadline
            self.service.process.kill()
            time.sleep(0.3)
            self.service.start()
            until(lambda: lock.deadline > deadline, "an extension")
            self.expect_held()
        self.expect_free()

    def test_thousand_names_are_extended_and_released_in_16_requests(self):
        relay = self.relay(lambda method, before: None)
        client = pawl.Client(relay.url)
        names = [f"{self.name}/{k}" for k in range(1000)]
        locks = [client.acquire(names[k:k + 64], ttl=30, wait=0) for k in range(0, 1000, 64)]
        deadlines = [lock.deadline for lock in locks]
        relay.requests.clear()
        for lock in locks:
            lock.extend(60)
        self.assertEqual(relay.requests, ["PATCH /v1/locks HTTP/1.1"] * 16)
        for lock, deadline in zip(locks, deadlines):
            self.assertGreater(lock.deadline, deadline + 20)
            self.assertTrue(lock.release())
        self.assertEqual(relay.requests[16:], ["DELETE /v1/locks HTTP/1.1"] * 16)
        for name in names[::100]:
            self.expect_free(name)

    def test_name_that_is_lost_is_told_where_all_are_extended_at_once(self):
        names = [self.name, self.name + "/b", self.name + "/c"]
        lock = self.client.acquire(names, ttl=30, wait=0)
        pawl._release(self.client, names[1:2], lock.lock_id, pawl.now() + PATIENCE)
        with self.assertRaises(pawl.LockLost) as caught:
            lock.extend()
        self.assertEqual(caught.exception.name, names[1])
        self.assertFalse(lock.held)
        self.assertFalse(lock.release())

    def test_names_are_asked_for_one_by_one_at_a_server_that_is_older(self):
        problem = b'{"type": "urn:pawl:method-not-allowed", "detail": "no"}'
        older = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: %d\r\n\r\n" % len(problem) + problem
        names = [self.name, self.name + "/b"]
        relay = self.relay(lambda method, before: (lambda answer: older)
                           if method == "PATCH" and before == 0 else None)
        lock = pawl.Client(relay.url).acquire(names, ttl=5, wait=0)
        deadline = lock.deadline
        lock.extend(10)
        self.assertGreater(lock.deadline, deadline + 3)
        self.assertTrue(lock.release())
        self.assertEqual([line.split()[0] for line in relay.requests],
                         ["POST", "PATCH", "PATCH", "PATCH", "DELETE", "DELETE"])

    def test_holder_hears_in_time_that_no_server_answers(self):
        heard = []
        try:
            with self.assertRaises(pawl.LockLost):
                with self.client.lock(self.name, ttl=4, notice=2,
                                      on_stop=lambda lock: heard.append(lock.left())) as lock:
                    self.service.process.stop()
                    self.assertTrue(lock.must_stop.wait(PATIENCE))
                    until(lambda: heard, "the call")
                    self.assertIsInstance(lock.reason, pawl.Unavailable)
                    until(lambda: not lock.held, "the end")
                    self.assertGreaterEqual(pawl.now(), lock.deadline)
                    self.service.process.go_on()
        finally:
            self.service.process.go_on()
        self.assertTrue(0 < heard[0] <= 2, heard)

    def test_lock_that_was_released_behind_its_back_is_lost(self):
        with self.assertRaises(pawl.LockLost):
            with self.client.lock(self.name, ttl=2) as lock:
                self.assertTrue(self.take(lock))
                self.assertTrue(lock.must_stop.wait(PATIENCE))
                self.assertFalse(lock.held)
                self.assertIsInstance(lock.reason, pawl.LockLost)
                with self.assertRaises(pawl.LockLost):
                    lock.check()
        self.expect_free()

    def test_lock_that_an_operator_broke_is_lost(self):
        with self.assertRaises(pawl.LockLost) as caught:
            with self.client.lock(self.name, ttl=2) as lock:
                self.break_lock(lock.token)
                self.assertTrue(lock.must_stop.wait(PATIENCE))
                self.assertFalse(lock.held)
        self.assertEqual(caught.exception.type, "lock-broken")
        self.assertIn(f"{self.name} was broken by an operator", str(caught.exception))
        self.expect_free()

    def test_error_of_the_block_goes_before_a_lost_lock(self):
        with self.assertRaises(KeyError):
            with self.client.lock(self.name, ttl=1) as lock:
                lock._lose(pawl.LockLost("for the test"))
                raise KeyError()
        self.expect_free()

    def test_release_in_the_block_is_no_loss(self):
        with self.client.lock(self.name, ttl=5) as lock:
            self.assertTrue(lock.release())
            self.assertFalse(lock.held)
            self.expect_free()

    def test_exhausted_lock_is_held_until_its_deadline(self):
        lock = self.client.acquire(self.name, ttl=20)
        with self.assertRaises(pawl.Exhausted):
            for _ in range(EXTENSIONS_MAX + 100):  # that one master may not have heard of
                lock.extend()
        self.assertTrue(lock.held)
        lock.release()

    def with_low_token(self, **options):
        """Where an extension names too low a token, it is answered with a new grant."""
        self.client.acquire(self.name).release()
        lock = self.client.acquire(self.name, ttl=20, **options)
        token = lock.token
        lock._tokens[self.name] = token - 1
        return lock, token

    def test_new_grant_is_a_lost_lock(self):
        lock, token = self.with_low_token()
        with self.assertRaises(pawl.NewGrant) as caught:
            lock.extend()
        self.assertGreaterEqual(caught.exception.token, token)
        self.assertFalse(lock.held)
        self.assertIs(lock.reason, caught.exception)
        lock.release()
        self.expect_free()

    def test_new_grant_is_taken_by_those_who_ask_for_it(self):
        lock, token = self.with_low_token(take_new_grant=True)
        lock.extend()
        self.assertGreaterEqual(lock.token, token)
        self.assertTrue(lock.held)
        lock.release()


class Stopping(Case):
    """`must_stop` of a lock that is not extended, whatever the thread that extends is doing."""

    def acquire(self, client, ttl, notice):
        """Acquires, and has it extended. `self.left` is what was left when `must_stop` was set."""
        self.left = []
        lock = client.acquire(self.name, ttl=ttl, wait=0)
        lock.renew(notice, lambda lock: self.left.append(lock.left()))
        return lock

    def expect_stop(self, lock, most):
        self.assertTrue(lock.must_stop.wait(PATIENCE))
        until(lambda: self.left, "the call")
        self.assertTrue(0 < self.left[0] <= most, self.left)

    def test_resolver_that_hangs_does_not_delay_it(self):
        lock = self.acquire(pawl.Client(self.service.url, call_timeout=1), 4, 2)
        go_on = self.hang_resolver()
        self.expect_stop(lock, 2)
        self.assertIsInstance(lock.reason, pawl.Unavailable)
        go_on.set()
        lock.release()

    def test_call_that_hangs_does_not_delay_it(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def hold(answer):
            go_on.wait(PATIENCE)
            return answer

        def extend():
            with self.assertRaises(pawl.LockLost):
                lock.extend()
        lock = self.acquire(pawl.Client(self.relay(first("PATCH", hold)).url), 4, 2)
        call = threading.Thread(target=extend)
        call.start()
        self.expect_stop(lock, 2)
        call.join()
        lock.release()

    def test_notice_above_half_of_the_lease_is_refused(self):
        for notice in (-1, 2.5, 4, float("nan")):
            with self.assertRaisesRegex(pawl.Invalid, "notice", msg=notice):
                with self.client.lock(self.name, ttl=4, wait=0, notice=notice):
                    pass
            self.expect_free()

    def test_notice_of_half_of_the_lease_lets_it_be_extended(self):
        lock = self.acquire(self.client, 6, 3)
        deadline = lock.deadline
        until(lambda: lock.deadline > deadline, "an extension")
        self.assertFalse(lock.must_stop.is_set())
        lock.release()

    def test_shorter_lease_brings_it_forward(self):
        relay = self.relay(lambda method, before:
                           nothing if method == "PATCH" and before > 0 else None)
        lock = self.acquire(pawl.Client(relay.url), 20, 2)
        lock.extend(4)
        self.expect_stop(lock, 2)
        lock.release()

    def test_lease_within_the_notice_sets_it_at_once(self):
        lock = self.acquire(self.client, 20, 8)
        lock.extend(6)
        self.expect_stop(lock, 6)
        lock.release()

    def test_shorter_lease_is_extended_in_time(self):
        lock = self.acquire(self.client, 20, 1)
        lock.extend(4)
        until(lambda: lock.left() > 4, "an extension")
        self.assertFalse(lock.must_stop.is_set())
        lock.release()

    def test_loss_that_a_call_finds_sets_it_at_once(self):
        lock = self.acquire(self.client, 120, 2)
        self.take(lock)
        with self.assertRaises(pawl.LockLost) as caught:
            lock.extend()
        self.assertTrue(lock.must_stop.wait(PATIENCE))
        self.assertIs(lock.reason, caught.exception)
        lock.release()


if __name__ == "__main__":
    unittest.main(verbosity=2)
