"""The Python client's side for asyncio, against a real fleet."""

import asyncio
import threading
import unittest
import unittest.mock

from python_service import PATIENCE, Case, first, pawl, until


class Async(Case):
    def test_block_holds_the_lock(self):
        async def main():
            async with self.client.alock(self.name, ttl=2) as lock:
                token = lock.token
                await asyncio.sleep(3)
                lock.check()
                self.assertEqual(lock.token, token)
                self.expect_held()
            self.assertFalse(lock.held)
        asyncio.run(main())
        self.expect_free()

    def test_tasks_take_turns(self):
        inside = []

        async def task():
            async with self.client.alock(self.name, ttl=5) as lock:
                inside.append(lock.token)
                self.assertEqual(len(inside), 1)
                await asyncio.sleep(0.01)
                inside.clear()

        async def main():
            await asyncio.gather(*(task() for _ in range(10)))
        asyncio.run(main())

    def test_waiters_keep_their_places_from_step_to_step(self):
        """A task asks at 0, 1.1 and 2.2 s, and a thread at 0.5 and 1.6 s. The task came first."""
        served = []
        holder = self.client.acquire(self.name, ttl=20)

        def wait_in_thread():
            with pawl.Client(self.service.url).lock(self.name, ttl=5):
                served.append("thread")

        async def main():
            async def wait():
                async with self.client.alock(self.name, ttl=5):
                    served.append("task")
            task = asyncio.create_task(wait())
            await asyncio.sleep(0.5)
            thread = asyncio.create_task(asyncio.to_thread(wait_in_thread))
            await asyncio.sleep(1.9)
            await asyncio.to_thread(until, lambda: self.waiters() == 2, "the line of both")
            self.assertTrue(holder.release())
            await asyncio.wait_for(asyncio.gather(task, thread), PATIENCE)
        with unittest.mock.patch.object(pawl, "_WAIT_STEP", 1.1):
            asyncio.run(main())
        self.assertEqual(served, ["task", "thread"])

    def test_one_that_is_cancelled_while_it_waits_takes_nothing(self):
        holder = self.client.acquire(self.name, ttl=20)

        async def main():
            task = asyncio.create_task(self.client.aacquire(self.name, ttl=30))
            await asyncio.sleep(0.5)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await asyncio.wait_for(task, PATIENCE)
        asyncio.run(main())
        self.assertTrue(holder.release())
        self.expect_free()

    def test_one_that_is_cancelled_before_its_answer_leaves_no_lock(self):
        go_on = threading.Event()

        def hold(answer):
            go_on.wait(PATIENCE)
            return answer

        relay = self.relay(first("POST", hold))

        async def main():
            task = asyncio.create_task(pawl.Client(relay.url).aacquire(self.name, ttl=30))
            await asyncio.sleep(0)
            while not self.is_held():
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
        asyncio.run(main())
        self.expect_free()
        go_on.set()

    def is_held(self):
        try:
            self.expect_free()
            return False
        except pawl.Held:
            return True

    def test_watch_tells_each_change_and_loses_none_where_it_is_cancelled(self):
        async def main():
            watch = self.client.awatch(self.name)
            self.assertEqual(await anext_of(watch), (False, None, None))
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(anext_of(watch), 0.5)
            async with self.client.alock(self.name, ttl=5, owner="worker-7") as lock:
                self.assertEqual(await anext_of(watch), pawl.State(True, lock.token, "worker-7"))
            self.assertFalse((await anext_of(watch)).held)
            self.assertEqual([state.held async for state in self.client.awatch(self.name, wait=0.2)],
                             [False])

        def anext_of(watch):  # anext() is new in Python 3.10
            return watch.__anext__()
        asyncio.run(main())

    def test_block_is_cancelled_where_the_lock_is_lost(self):
        async def main():
            async with self.client.alock(self.name, ttl=2) as lock:
                self.take(lock)
                await asyncio.sleep(PATIENCE)
        with self.assertRaises(pawl.LockLost):
            asyncio.run(main())
        self.expect_free()

    def test_block_is_cancelled_in_time_where_no_server_answers(self):
        left = []

        async def main():
            async with self.client.alock(self.name, ttl=4, notice=2) as lock:
                self.service.process.stop()
                try:
                    await asyncio.sleep(PATIENCE)
                finally:
                    left.append(lock.left())
                    self.service.process.go_on()
        try:
            with self.assertRaises(pawl.LockLost):
                asyncio.run(main())
        finally:
            self.service.process.go_on()
        self.assertTrue(0 < left[0] <= 2, left)

    def test_block_is_cancelled_in_time_where_the_resolver_hangs(self):
        client = pawl.Client(self.service.url, call_timeout=1)
        left = []

        async def main():
            async with client.alock(self.name, ttl=4, notice=2) as lock:
                go_on = self.hang_resolver()
                try:
                    await asyncio.sleep(PATIENCE)
                finally:
                    left.append(lock.left())
                    go_on.set()
        with self.assertRaises(pawl.LockLost):
            asyncio.run(main())
        self.assertTrue(0 < left[0] <= 2, left)

    def test_one_who_asks_for_it_is_told_and_not_cancelled(self):
        async def main():
            async with self.client.alock(self.name, ttl=2, cancel=False) as lock:
                self.take(lock)
                await asyncio.wait_for(lock.wait_stop(), PATIENCE)
                self.assertIsInstance(lock.reason, pawl.LockLost)
                self.assertFalse(lock.held)
        with self.assertRaises(pawl.LockLost):
            asyncio.run(main())

    def test_lock_of_a_loop_that_was_closed_ends_with_its_lease(self):
        """No task can leave the block any more."""
        async def block():
            async with self.client.alock(self.name, ttl=1):
                await asyncio.sleep(PATIENCE)

        loop = asyncio.new_event_loop()
        task = loop.create_task(block())
        while not self.is_held():
            loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
        until(lambda: not self.is_held(), "the end of the lease")
        self.assertFalse(task.done())

    def test_cancellation_of_the_block_is_no_lost_lock(self):
        async def block():
            async with self.client.alock(self.name, ttl=20):
                await asyncio.sleep(PATIENCE)

        async def main():
            task = asyncio.create_task(block())
            while not self.is_held():
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
        asyncio.run(main())
        self.expect_free()

    def test_explicit_calls(self):
        async def main():
            lock = await self.client.aacquire(self.name, ttl=2)
            await lock.extend(10)
            self.assertGreater(lock.left(), 3)
            with self.assertRaises(pawl.Held):
                await self.client.aacquire(self.name, wait=0)
            self.assertTrue(await lock.release())
            self.assertFalse(await lock.release())
        asyncio.run(main())


if __name__ == "__main__":
    unittest.main(verbosity=2)
