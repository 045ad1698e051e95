"""A believer over the Python client (README.md). With the argument `async`, its asyncio side."""

import asyncio
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../api/client/python"))
import pawl  # noqa: E402

PERIOD = 0.01
HOLD_MOST = 3.0
PAUSE = 0.05  # after an acquisition that failed
ENDS = (pawl.Held, pawl.LockLost, pawl.Unavailable, pawl.Exhausted)


class Diary:
    """The lines that a believer writes."""

    def __init__(self, path):
        self._path = path

    def write(self, *words):
        with open(self._path, "ab", buffering=0) as file:
            file.write((" ".join(map(str, words)) + "\n").encode())


def boot_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def watch(lock, diary, hold):
    """Yields between two questions. Ends after @hold seconds, or when the answer is no. It asks
    once more after each pause, so that one who was stopped says what it holds now."""
    began = None
    until = boot_us() + hold * 1e6
    while began is None or began < until:
        end = boot_us()
        if not lock.held:
            diary.write("LOST", boot_us(), lock.token, lock.lock_id)
            return
        if began is not None:
            diary.write(began, end, lock.token, lock.lock_id)
        began = boot_us()
        yield


def plan():
    """The lease, how long to hold, and whether to let the lock run out."""
    runs_out = random.random() < 0.1
    return random.uniform(1, 2), HOLD_MOST * random.random() ** 6, runs_out


def believe(client, name, diary):
    lease, hold, runs_out = plan()
    if runs_out:
        lock = client.acquire(name, ttl=lease, wait=2)
        for _ in watch(lock, diary, 2 * HOLD_MOST):
            time.sleep(PERIOD)
        return
    with client.lock(name, ttl=lease, wait=2) as lock:
        for _ in watch(lock, diary, hold):
            time.sleep(PERIOD)


async def believe_async(client, name, diary):
    lease, hold, runs_out = plan()
    if runs_out:
        lock = await client.aacquire(name, ttl=lease, wait=2)
        for _ in watch(lock, diary, 2 * HOLD_MOST):
            await asyncio.sleep(PERIOD)
        return
    # Not cancelled in time, so that it is the client's answers that end it.
    async with client.alock(name, ttl=lease, wait=2, cancel=False) as lock:
        for _ in watch(lock, diary, hold):
            await asyncio.sleep(PERIOD)


def main():
    client = pawl.Client()
    name = os.environ["PAWL_NAME"]
    diary = Diary(os.environ["PAWL_BELIEF_FILE"])
    until = time.monotonic() + float(os.environ["PAWL_SECONDS"])
    use_async = sys.argv[1:] == ["async"]

    async def go_on_async():
        while time.monotonic() < until:
            try:
                await believe_async(client, name, diary)
            except ENDS:
                await asyncio.sleep(PAUSE)

    if use_async:
        asyncio.run(go_on_async())
    while time.monotonic() < until:
        try:
            believe(client, name, diary)
        except ENDS:
            time.sleep(PAUSE)


main()
