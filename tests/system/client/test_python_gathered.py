"""What the Python client is asked for in one turn of an asyncio loop goes in one request, against a real fleet."""

import asyncio
import os
import pickle
import threading
import time
import unittest
import unittest.mock

from python_service import PATIENCE, Case, Listener, free_port, pawl, read_request, until

BATCH = "POST /v1/batch HTTP/1.1"
NAMES = ("a", "b", "c")


def answer(status, body, kind="application/json"):
    text = body.encode()
    return (f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n"
            "Connection: close\r\n\r\n").encode() + text


class Silent(Listener):
    """Takes each request, and answers none."""

    def __init__(self):
        self.heads = []
        self.go_on = threading.Event()
        super().__init__()
        self.url = f"http://{self.address}"

    def serve(self, connection):
        with connection:
            self.heads.append(read_request(connection)[0])
            self.go_on.wait(PATIENCE)


class Gathered(Case):
    def setUp(self):
        super().setUp()
        self.names = [f"{self.name}/{name}" for name in NAMES]

    def asked(self, become=None, times=1 << 30):
        """A relay that has @become of the answers to the first @times batches, and a client of it."""
        self.harms = 0

        def harm(_method, _before):
            if become is None or relay.requests[-1] != BATCH or self.harms >= times:
                return None
            self.harms += 1
            return lambda _answer: become
        relay = self.relay(harm)
        self.relay_of_test = relay
        return pawl.Client(relay.url)

    def batches(self):
        return self.relay_of_test.requests.count(BATCH)

    async def acquire_all(self, client, names=None, **options):
        return await asyncio.gather(*(client.aacquire(name, ttl=20, wait=0, **options)
                                      for name in names or self.names), return_exceptions=True)

    async def release_all(self, locks):
        return await asyncio.gather(*(lock.release() for lock in locks))

    # -- what is gathered --

    def test_calls_of_one_turn_are_one_request_and_each_has_its_own_outcome(self):
        client = self.asked()
        holder = self.client.acquire(self.names[1], ttl=20)

        async def main():
            got = await self.acquire_all(client)
            self.assertIsInstance(got[1], pawl.Held)
            self.assertIn(self.names[1], str(got[1]))
            locks = [got[0], got[2]]
            await asyncio.gather(*(lock.extend(10) for lock in locks))
            self.assertTrue(all(9 < lock.left() <= 10 for lock in locks))
            self.assertEqual(await self.release_all(locks), [True, True])
        asyncio.run(main())
        self.assertEqual(self.relay_of_test.requests[0], BATCH)
        self.assertEqual(self.batches(), 3)
        holder.release()

    def test_call_that_is_alone_is_no_batch(self):
        client = self.asked()

        async def main():
            lock = await client.aacquire(self.name, wait=0)
            await lock.extend()
            self.assertTrue(await lock.release())
        asyncio.run(main())
        self.assertEqual([line.split()[0] for line in self.relay_of_test.requests],
                         ["POST", "PATCH", "DELETE"])
        self.assertEqual(self.batches(), 0)

    def test_call_that_may_wait_comes_alone(self):
        client = self.asked()
        holder = self.client.acquire(self.name, ttl=20)

        async def main():
            waiting = asyncio.create_task(client.aacquire(self.name))
            locks = await self.acquire_all(client)
            self.assertFalse(waiting.done())
            holder.release()
            await self.release_all([*locks, await asyncio.wait_for(waiting, PATIENCE)])
        asyncio.run(main())
        self.assertEqual(self.batches(), 2)

    def test_more_calls_than_a_batch_has_are_several(self):
        client = self.asked()
        names = [f"{self.name}/{i}" for i in range(100)]

        async def main():
            locks = await self.acquire_all(client, names)
            self.assertTrue(all(lock.held for lock in locks))
            self.assertEqual(self.batches(), 2)
            await self.release_all(locks)
        asyncio.run(main())
        self.assertEqual(self.batches(), 4)

    def test_body_is_no_longer_than_a_pawld_takes(self):
        client = self.asked()
        names = [f"{self.name}/{i}/".ljust(250, "x") for i in range(64)]

        async def main():
            with unittest.mock.patch.object(pawl, "_BATCH_BYTES_MAX", 10000):
                locks = await self.acquire_all(client, names, owner="o" * 128)
                self.assertIn(self.batches(), range(3, 10))
                await self.release_all(locks)
        asyncio.run(main())

    def test_blocks_of_tasks_are_gathered(self):
        client = self.asked()
        all_inside = asyncio.Barrier if hasattr(asyncio, "Barrier") else None

        async def block(name, barrier):
            async with client.alock(name, ttl=20, wait=0) as lock:
                await (barrier.wait() if barrier else asyncio.sleep(0.3))
                lock.check()

        async def main():
            barrier = all_inside(len(self.names)) if all_inside else None
            await asyncio.gather(*(block(name, barrier) for name in self.names))
        asyncio.run(main())
        self.assertEqual(self.relay_of_test.requests[0], BATCH)
        for name in self.names:
            self.expect_free(name)

    # -- what goes wrong --

    def test_lost_answer_of_a_batch_is_asked_for_again_under_the_same_lock_ids(self):
        client = self.asked(b"", times=1)

        async def main():
            locks = await self.acquire_all(client)
            for lock in locks:  # 2: a slow master did not know of the first grant yet
                self.assertIn(lock.token, (1, 2))
            self.assertEqual(await self.release_all(locks), [True] * 3)
        asyncio.run(main())
        self.assertEqual(self.harms, 1)

    def test_lock_that_is_lost_is_told_to_its_holder_alone(self):
        client = self.asked()

        async def main():
            locks = await self.acquire_all(client)
            self.take(locks[1])
            got = await asyncio.gather(*(lock.extend() for lock in locks), return_exceptions=True)
            self.assertEqual([type(error) for error in got], [type(None), pawl.LockLost, type(None)])
            self.assertEqual([lock.held for lock in locks], [True, False, True])
            await asyncio.gather(*(lock.release() for lock in (locks[0], locks[2])))
        asyncio.run(main())

    def test_server_without_batches_gets_each_call_by_itself_from_then_on(self):
        client = self.asked(answer(404, '{"type":"urn:pawl:not-found","title":"t","status":404,"detail":"d"}'))

        async def main():
            for _ in range(2):
                locks = await self.acquire_all(client)
                self.assertTrue(all(lock.held for lock in locks))
                self.assertEqual(await self.release_all(locks), [True] * 3)
        asyncio.run(main())
        self.assertEqual(self.batches(), 1)

    def test_gateway_that_refuses_batches_alone_gets_each_call_by_itself(self):
        client = self.asked(answer(403, "<html>", "text/html"))

        async def main():
            locks = await self.acquire_all(client)
            self.assertEqual(await self.release_all(locks), [True] * 3)
        asyncio.run(main())
        self.assertEqual(self.batches(), 1)

    def test_batch_that_is_malformed_is_asked_one_by_one_and_the_next_is_a_batch(self):
        client = self.asked(answer(400, '{"type":"urn:pawl:bad-request","title":"t","status":400,"detail":"d"}'),
                            times=1)

        async def main():
            locks = await self.acquire_all(client)
            self.assertEqual(await self.release_all(locks), [True] * 3)
        asyncio.run(main())
        self.assertEqual(self.batches(), 2)

    def test_refusal_of_the_whole_batch_is_one_of_each_call(self):
        client = self.asked(answer(403, '{"type":"urn:pawl:not-allowed","title":"t","status":403,"detail":"d"}'))

        async def main():
            got = await self.acquire_all(client)
            self.assertEqual([type(error) for error in got], [pawl.Refused] * 3)
            for error, name in zip(got, self.names):
                self.assertIn(name, str(error))
        asyncio.run(main())
        self.assertEqual(len(self.relay_of_test.requests), 1)

    def test_answers_that_are_none_are_refused(self):
        for body in ('{"responses":[{},{"status":"200"},null]}', '{"responses":[7,8,9]}'):
            client = self.asked(answer(200, body))

            async def main():
                got = await self.acquire_all(client)
                self.assertEqual([type(error) for error in got], [pawl.ProtocolError] * 3)
            asyncio.run(main())
            for name in self.names:  # what was granted was released
                self.expect_free(name)

    def test_batch_that_is_not_answered_is_unavailable_in_time(self):
        silent = Silent()
        self.addCleanup(silent.close)
        self.addCleanup(silent.go_on.set)
        client = pawl.Client(silent.url, call_timeout=0.5)

        async def main():
            began = time.monotonic()
            got = await self.acquire_all(client)
            self.assertEqual([type(error) for error in got], [pawl.Unavailable] * 3)
            self.assertLess(time.monotonic() - began, 5)
        asyncio.run(main())
        self.assertTrue(silent.heads[0].startswith(BATCH.encode()))

    def test_next_server_is_asked_where_one_does_not_answer(self):
        silent = Silent()
        self.addCleanup(silent.close)
        self.addCleanup(silent.go_on.set)
        client = pawl.Client([silent.url, self.service.url], call_timeout=1)

        async def main():
            locks = await self.acquire_all(client)
            self.assertEqual(await self.release_all(locks), [True] * 3)
        asyncio.run(main())

    def test_call_whose_lock_ends_does_not_wait_for_the_others_of_its_batch(self):
        silent = Silent()
        self.addCleanup(silent.close)
        self.addCleanup(silent.go_on.set)
        client = pawl.Client(self.service.url, call_timeout=PATIENCE)

        async def main():
            short, long = await asyncio.gather(client.aacquire(self.names[0], ttl=1, wait=0),
                                               client.aacquire(self.names[1], ttl=60, wait=0))
            client._servers = pawl.Client(silent.url)._servers
            late = asyncio.create_task(long.extend())
            began = time.monotonic()
            with self.assertRaises(pawl.LockLost):
                await short.extend()
            self.assertLess(time.monotonic() - began, PATIENCE / 4)
            self.assertFalse(late.done())
            late.cancel()
        threading.Timer(PATIENCE / 2, silent.go_on.set).start()
        asyncio.run(main())
        self.assertTrue(silent.heads[0].startswith(BATCH.encode()))

    def test_server_that_was_not_reached_left_nothing_to_release(self):
        client = self.asked()
        holders = [self.client.acquire(name, ttl=20) for name in self.names]
        client._servers.insert(0, pawl.Client(f"http://127.0.0.1:{free_port()}")._servers[0])

        async def main():
            got = await self.acquire_all(client)
            self.assertEqual([type(error) for error in got], [pawl.Held] * 3)
        asyncio.run(main())
        self.assertNotIn("DELETE", str(self.relay_of_test.requests))
        for holder in holders:
            holder.release()

    def test_cancelled_call_of_a_batch_leaves_nothing_behind(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def hold(_method, _before):
            def become(bytes_):
                go_on.wait(PATIENCE)
                return bytes_
            return become if relay.requests[-1] == BATCH else None
        relay = self.relay(hold)
        client = pawl.Client(relay.url)

        async def main():
            wanted, unwanted = (asyncio.create_task(client.aacquire(name, ttl=20, wait=0))
                                for name in self.names[:2])
            await asyncio.to_thread(until, lambda: relay.requests == [BATCH], "the batch")
            unwanted.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await asyncio.wait_for(unwanted, PATIENCE)
            self.assertFalse(wanted.done())
            await asyncio.to_thread(self.expect_free, self.names[1])
            go_on.set()
            self.assertTrue(await (await wanted).release())
        asyncio.run(main())

    def test_call_behind_another_of_its_lock_holds_up_no_others(self):
        client = self.asked()

        async def main():
            slow, fast = (await self.acquire_all(client))[:2]
            leave = threading.Event()
            entered = threading.Event()

            def keep():
                with slow.lock._calls:  # as an extension that is under way does
                    entered.set()
                    leave.wait(PATIENCE)
            keeper = asyncio.create_task(asyncio.to_thread(keep))
            await asyncio.to_thread(entered.wait, PATIENCE)
            late = asyncio.create_task(slow.release())
            began = time.monotonic()
            with unittest.mock.patch.object(pawl, "_TURN_MOST", PATIENCE):
                self.assertTrue(await fast.release())
            self.assertLess(time.monotonic() - began, PATIENCE / 4)
            self.assertFalse(late.done())
            leave.set()
            self.assertTrue(await late)
            await keeper
        asyncio.run(main())

    # -- processes --

    @unittest.skipUnless(hasattr(os, "fork"), "no forks")
    def test_child_of_a_fork_sends_nothing_of_its_parents_turn(self):
        client = self.asked()

        async def main():
            tasks = [asyncio.create_task(client.aacquire(name, ttl=20, wait=0)) for name in self.names]
            forked = asyncio.create_task(self.fork_in_turn(client))
            locks = await asyncio.gather(*tasks)
            self.assertEqual(await forked, 0)
            self.assertEqual(await self.release_all(locks), [True] * 3)
        asyncio.run(main())
        self.assertEqual(self.batches(), 2)

    def test_client_that_gathered_can_be_sent_to_another_process(self):
        async def main():
            await self.release_all(await self.acquire_all(self.client))
            return pickle.loads(pickle.dumps(self.client))
        self.assertTrue(asyncio.run(main()).acquire(self.name).release())

    async def fork_in_turn(self, client):
        """The child ends with 0 where the end of the turn starts nothing there."""
        turn = client._turn
        self.assertIsNotNone(turn.loop)  # it is not over
        pid = os.fork()
        if pid == 0:
            status = 1
            started = []
            try:
                with unittest.mock.patch.object(threading.Thread, "start", started.append):
                    turn.end()
                status = 2 if started else 0
            finally:
                os._exit(status)
        _, status = await asyncio.to_thread(os.waitpid, pid, 0)
        return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    unittest.main(verbosity=2)
