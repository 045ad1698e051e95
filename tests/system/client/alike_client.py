"""As alike_client.c, with the client for Python. usage: {threads|asyncio} CALL NAME WAIT_MS
| {threads|asyncio} watch NAME STATES"""

import asyncio
import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "api/client/python"))
import pawl  # noqa: E402

KINDS = {pawl.Held: "held", pawl.Invalid: "invalid", pawl.LockLost: "lost",
         pawl.ProtocolError: "protocol", pawl.Refused: "refused", pawl.Unavailable: "unavailable"}
TTL = 1.5


def options_of(wait):
    return {} if wait == "-" else {"wait": int(wait) / 1000}


def in_threads(client, call, name, wait):
    with client.lock(name, **options_of(wait)):
        if call == "nested":
            client.acquire(name, **options_of(wait))


def lose_in_thread(client, name, noted):
    with client.lock(name, ttl=TTL) as lock:
        print("holding", flush=True)
        lock.must_stop.wait()
        while lock.held:
            noted.append(lock.deadline)
        if pawl.now() > noted[-1] + TTL / 5:
            raise AssertionError("told late")


def said_of(states):
    return "".join(f"held under {token} by {owner}. " if held else "free. "
                   for held, token, owner in states)


def watch_in_thread(client, name, count):
    return said_of(itertools.islice(client.watch(name), count))


async def watch_in_task(client, name, count):
    states = []
    async for state in client.awatch(name):
        states.append(state)
        if len(states) == count:
            return said_of(states)


async def in_tasks(client, call, name, wait):
    async with client.alock(name, **options_of(wait)):
        if call == "nested":
            await client.aacquire(name, **options_of(wait))


async def lose_in_task(client, name, noted):
    async with client.alock(name, ttl=TTL) as lock:
        print("holding", flush=True)
        while True:
            noted.append(lock.deadline)
            await asyncio.sleep(0.01)


def run(how, call, name, wait):
    noted = []
    said = ""
    try:
        client = pawl.Client(call_timeout=5 if call == "lose" else 3)
        if how == "threads" and call == "lose":
            lose_in_thread(client, name, noted)
        elif how == "threads" and call == "watch":
            said = watch_in_thread(client, name, int(wait))
        elif how == "threads":
            in_threads(client, call, name, wait)
        elif call == "lose":
            asyncio.run(lose_in_task(client, name, noted))
        elif call == "watch":
            said = asyncio.run(watch_in_task(client, name, int(wait)))
        else:
            asyncio.run(in_tasks(client, call, name, wait))
        kind = "granted"
    except Exception as error:
        kind, said = KINDS.get(type(error), f"{type(error).__name__}"), str(error)
    number = int((pawl.now() - noted[-1]) * 1000) if noted else 0
    print(kind, said, number, "", sep="\0", end="", flush=True)


run(*sys.argv[1:])
