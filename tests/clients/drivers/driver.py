"""The driver of the client for Python: ../README.md has the commands."""

import asyncio
import itertools
import os
import pathlib
import signal
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, os.environ.get("PAWL_CLIENTS", str(ROOT / "api/client")) + "/python")
import pawl  # noqa: E402

LEFT_OUT = {"counter": "the client for Python has no counters", "inspect": "the client for Python has watch() in its place",
            "fork": "tests/system/client/forks", "fork_in_block": "tests/system/client/forks",
            "close": "a connection serves one call"}
KINDS = {pawl.Held: "held", pawl.Invalid: "invalid", pawl.InvalidType: "invalid", pawl.LockLost: "lost",
         pawl.NewGrant: "new-grant", pawl.ProtocolError: "protocol", pawl.Refused: "refused",
         pawl.Exhausted: "exhausted", pawl.Unavailable: "unavailable", asyncio.TimeoutError: "cancelled"}
client = lock = None


def given(**options):
    """The options that are not "-"; times are milliseconds."""
    return {name: text if name in ("owner", "mode") else int(text) if name == "permits" else int(text) / 1000
            for name, text in options.items() if text != "-"}


def tokens():
    return " ".join(map(str, lock.tokens.values()))


def states(wait, count, name):
    told = itertools.islice(client.watch(name, **given(wait=wait)), int(count))
    return ", ".join(f"held {state.token} {state.owner}" if state.held else "free" for state in told)


async def cancel_later(ms, name):
    await asyncio.wait_for(client.aacquire(name), int(ms) / 1000)


async def leave(name):
    """The task is cancelled in the block of the lock."""
    async def work():
        async with client.alock(name, ttl=5):
            await asyncio.sleep(60)
    await asyncio.wait_for(work(), 0.3)


def raise_cancelled():
    raise asyncio.TimeoutError


def run(command, *words):
    global client, lock
    if command == "client":
        key = words[2] if len(words) > 2 else None
        client = pawl.Client(None if words[1] == "-" else words[1], call_timeout=int(words[0]) / 1000, key=key)
    elif command == "acquire":
        lock = client.acquire(*words[3:], **given(wait=words[0], ttl=words[1], owner=words[2]))
        return tokens()
    elif command == "seat":
        lock = client.acquire(words[3], **given(wait=words[0], ttl=words[1], permits=words[2]))
        return f"{lock.seat} {tokens()}"
    elif command == "rwlock":
        lock = client.acquire(words[3], **given(wait=words[0], ttl=words[1], mode=words[2]))
        return tokens() if lock.seat is None else f"{lock.seat} {tokens()}"
    elif command == "delayed":
        lock = client.acquire(words[2], **given(delay=words[0], ttl=words[1]))
        return tokens()
    elif command == "keep":
        return str(lock.release(**given(keep=words[0]))).lower()
    elif command == "extend":
        lock.extend(**given(ttl=words[0]))
        return tokens()
    elif command == "release":
        return str(lock.release()).lower()
    elif command == "left":
        return int(lock.left() * 1000)
    elif command == "renew":
        lock.renew()
    elif command == "stopped":
        lock.must_stop.wait()
        return int(lock.left() * 1000)
    elif command == "nested":
        with client.lock(words[1], ttl=5):
            client.acquire(words[1], **given(wait=words[0]))
    elif command == "cancel":
        asyncio.run(cancel_later(*words))
    elif command == "leave":
        asyncio.run(leave(*words))
    elif command == "interrupt":
        signal.signal(signal.SIGALRM, lambda *_: raise_cancelled())
        with client.lock(*words, ttl=5):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
    elif command == "handle":
        signal.signal(signal.SIGUSR1, lambda *_: None)
    elif command == "threads":
        return threading.active_count()
    elif command == "end":
        signal.signal(signal.SIGALRM, lambda *_: sys.exit(0))
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        client.acquire(*words)
    elif command == "group":
        return ""
    elif command == "watch":
        return states(*words)
    else:
        return None
    return ""


for line in sys.stdin:
    kind, value, text = "ok", "", ""
    try:
        value = run(*line.rstrip("\n").split("\t"))
        if value is None:
            kind, text = "none", LEFT_OUT.get(line.split("\t")[0].rstrip("\n"), "")
    except Exception as error:
        kind, text = KINDS.get(type(error), f"another error: {type(error)}"), f"{error} {getattr(error, 'type', '')}"
        text += f" {error.name} {getattr(error, 'owner', '')}" if isinstance(error, pawl.Error) else ""
    print(kind, value, text.replace("\n", " "), sep="\t", flush=True)
