"""A mixed load over many connections, which knows what each answer may be.

usage: load.py --url https://127.0.0.1:PORT --report FILE [OPTION...]

    --ca FILE            the authority of the server's certificate, for https
    --key-file FILE      the first line is a key of role lock for soak/
    --admin-key-file F   the same, of role admin: reads /metrics and breaks locks
    --connections N      (100)
    --rate N             calls a second, all together (200)
    --seconds S          (10)
    --seed N             (1)

Each connection makes calls of a random kind at random times. Per name, a grant that was asked for after
another was answered has the higher token. The values of a counter are never given twice.

What no rule allows is unexpected: it is written to stderr, and the exit status is 1. FILE has how often
each call had each result.
"""

import argparse
import asyncio
import collections
import json
import random
import ssl
import sys
import time
import urllib.parse

SHARED_NAMES = 20
COUNTERS = 5
TTL_MS = 20000
ANSWER_S = 30.0        # for any answer
UNEXPECTED_SHOWN = 50
GROUP = 3
BEGIN_S = 60.0         # in which all connect: a handshake costs as much as many calls


class Gone(Exception):
    """The connection ended before the first byte of an answer."""


class Connection:
    """One connection, kept alive: a request at a time."""

    def __init__(self, load):
        self._load = load
        self._reader = self._writer = None

    def is_open(self):
        return self._writer is not None

    async def open(self):
        options = self._load.options
        self._reader, self._writer = await asyncio.wait_for(
            asyncio.open_connection(self._load.host, self._load.port, ssl=self._load.context,
                                    server_hostname="localhost" if options.ca else None), ANSWER_S)
        self._load.opened += 1

    def close(self):
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def ask(self, method, path, key, headers=(), body=None, pieces=1):
        """Returns status, and the body as JSON or text."""
        data = json.dumps(body).encode() if body is not None else b""
        lines = [f"{method} {path} HTTP/1.1", f"Host: localhost:{self._load.port}"]
        lines += [f"Authorization: Bearer {key}"] if key else []
        lines += [f"{name}: {value}" for name, value in headers]
        lines += [f"Content-Length: {len(data)}"] if method != "GET" else []
        message = "\r\n".join(lines).encode() + b"\r\n\r\n" + data
        try:
            for i in range(pieces):
                self._writer.write(message[i * len(message) // pieces:(i + 1) * len(message) // pieces])
                await self._writer.drain()
                if i + 1 < pieces:
                    await asyncio.sleep(0.2)
            first = await asyncio.wait_for(self._reader.readline(), ANSWER_S)
        except (ConnectionError, ssl.SSLError) as error:
            self.close()
            raise Gone() from error
        if not first:
            self.close()
            raise Gone()
        return await asyncio.wait_for(self._answer(first), ANSWER_S)

    async def _answer(self, first):
        status = int(first.split()[1])
        length, ends = 0, False
        while True:
            line = (await self._reader.readline()).strip()
            if not line:
                break
            name, _, value = line.partition(b":")
            name, value = name.strip().lower(), value.strip()
            if name == b"content-length":
                length = int(value)
            elif name == b"connection":
                ends = value.lower() == b"close"
        body = await self._reader.readexactly(length)
        if ends:
            self.close()
        try:
            return status, json.loads(body)
        except ValueError:
            return status, body.decode()


class Load:
    def __init__(self, options):
        url = urllib.parse.urlsplit(options.url)
        self.options = options
        self.host, self.port = url.hostname, url.port
        self.context = ssl.create_default_context(cafile=options.ca) if url.scheme == "https" else None
        self.key = first_line(options.key_file)
        self.admin_key = first_line(options.admin_key_file)
        self.results = collections.Counter()
        self.unexpected = []
        self.opened = 0      # connections
        self.retried = 0     # calls whose connection ended before an answer
        self.tokens = collections.defaultdict(int)  # the highest of each name that was answered
        self.values = collections.defaultdict(set)  # of each counter
        self.ends = time.monotonic() + options.seconds

    def note(self, call, status, answer, expected):
        problem = ""
        if isinstance(answer, dict) and str(answer.get("type", "")).startswith("urn:pawl:"):
            problem = answer["type"].removeprefix("urn:pawl:")
        self.results[f"{call} {status} {problem}".strip()] += 1
        if (status, problem) not in expected:
            self.complain(f"{call}: {status} {answer}")
            return False
        return True

    def complain(self, what):
        self.unexpected.append(what)
        if len(self.unexpected) <= UNEXPECTED_SHOWN:
            print(f"{time.strftime('%H:%M:%S')} unexpected: {what}", file=sys.stderr, flush=True)


def first_line(path):
    if not path:
        return None
    with open(path, encoding="ascii") as file:
        return file.readline().strip()


class Client:
    """The user of one connection."""

    def __init__(self, load, number):
        self._load = load
        self._random = random.Random(load.options.seed * 1000003 + number)
        self._name = f"soak/own/{number}"
        self._connection = Connection(load)

    async def call(self, what, method, path, expected, key=None, **rest):
        """Over a connection that the server closed between two calls, asks anew over another one."""
        load = self._load
        tries = 0
        while True:
            fresh = not self._connection.is_open()
            try:
                if fresh:
                    await self._connection.open()
                status, answer = await self._connection.ask(method, path, key or load.key, **rest)
                break
            except Gone:
                tries += 1
                load.retried += 1
                if fresh or tries > 3:
                    load.complain(f"{what}: a new connection ended without an answer")
                    return 0, {}
            except (OSError, ssl.SSLError, EOFError, asyncio.TimeoutError) as error:
                self._connection.close()
                load.complain(f"{what}: {type(error).__name__}: {error}")
                return 0, {}
        return (status, answer) if load.note(what, status, answer, expected) else (0, answer)

    # ---- kinds of calls --------------------------------------------------------------------------

    async def acquire(self, what, name, wait_ms, expected):
        before = self._load.tokens[name]
        status, grant = await self.call(what, "POST", f"/v1/locks/{name}", expected,
                                        body={"ttl_ms": TTL_MS, "wait_ms": wait_ms, "owner": "soak"})
        if status != 201:
            return None
        if grant["token"] <= before:
            self._load.complain(f"{name}: token {grant['token']} after {before} was answered")
        self._load.tokens[name] = max(self._load.tokens[name], grant["token"])
        return grant

    async def release(self, what, name, grant):
        status, answer = await self.call(what, "DELETE", f"/v1/locks/{name}", {(200, "")},
                                         headers=[("Lock-Id", grant["lock_id"])])
        if status == 200 and not answer["released"]:
            self._load.complain(f"{name}: was lost before its release")

    async def extend(self, grant):
        """201: a master was taken back since, so the lock was granted anew, with a higher token."""
        status, answer = await self.call("extend", "PATCH", f"/v1/locks/{self._name}", {(200, ""), (201, "")},
                                         headers=[("Lock-Id", grant["lock_id"]),
                                                  ("Fencing-Token", grant["token"])],
                                         body={"ttl_ms": TTL_MS})
        if status == 201 and answer["token"] <= grant["token"]:
            self._load.complain(f"{self._name}: granted anew with token {answer['token']} after {grant['token']}")
        if status == 201:
            self._load.tokens[self._name] = max(self._load.tokens[self._name], answer["token"])

    async def own(self):
        grant = await self.acquire("acquire", self._name, 0, {(201, "")})
        if grant is None:
            return
        if self._random.random() < 0.3:
            await asyncio.sleep(self._random.random() * 2)
            await self.extend(grant)
        await self.release("release", self._name, grant)

    async def shared(self):
        name = f"soak/shared/{self._random.randrange(SHARED_NAMES)}"
        wait_ms = self._random.choice([0, 500, 3000])
        refused = (409, "wait-timeout") if wait_ms else (409, "held")
        grant = await self.acquire("wait" if wait_ms else "try", name, wait_ms,
                                   {(201, ""), refused, (409, "contended")})
        if grant is not None:
            await asyncio.sleep(self._random.random() * 0.05)
            await self.release("release", name, grant)

    async def group(self):
        names = [f"{self._name}/{i}" for i in range(GROUP)]
        status, grant = await self.call("acquire_several", "POST", "/v1/locks", {(201, "")},
                                        body={"resources": names, "ttl_ms": TTL_MS})
        if status == 201:
            for name in names:
                await self.release("release", name, grant)

    async def counter(self):
        name = f"soak/{self._random.randrange(COUNTERS)}"
        status, answer = await self.call("count", "POST", f"/v1/counters/{name}",
                                         {(200, ""), (409, "contended")})
        if status == 200:
            if answer["value"] in self._load.values[name]:
                self._load.complain(f"counter {name}: {answer['value']} twice")
            self._load.values[name].add(answer["value"])

    async def read(self):
        path = self._random.choice([f"/v1/locks/{self._name}", "/v1/locks?prefix=soak/shared/",
                                    "/livez", "/readyz", "/v1/fleet"])
        await self.call("read", "GET", path, {(200, "")})

    async def in_pieces(self):
        await self.call("read", "GET", f"/v1/locks/{self._name}", {(200, "")}, pieces=3)

    async def once(self):
        self._connection.close()
        await self.own()
        self._connection.close()

    async def wrong(self):
        if not self._load.key:
            await self.call("missing", "GET", "/v1/nothing", {(404, "not-found")})
            return
        wrong = self._load.key[:-1] + ("A" if self._load.key[-1] != "A" else "B")
        await self.call("wrong_key", "GET", "/v1/fleet", {(401, "key-required")}, key=wrong)
        await self.call("other_prefix", "POST", "/v1/locks/other/name", {(403, "not-allowed")})

    KINDS = [(own, 50), (shared, 20), (group, 4), (counter, 6), (read, 8), (in_pieces, 2), (once, 6),
             (wrong, 4)]

    async def run(self):
        load = self._load
        mean = load.options.connections / load.options.rate
        kinds = [kind for kind, _ in self.KINDS]
        weights = [weight for _, weight in self.KINDS]
        begin = min(max(mean, BEGIN_S), load.options.seconds / 2)
        await asyncio.sleep(self._random.random() * begin)
        while time.monotonic() < load.ends:
            await self._random.choices(kinds, weights)[0](self)
            await asyncio.sleep(self._random.expovariate(1 / mean))
        self._connection.close()


async def run_all(load):
    await asyncio.gather(*(Client(load, i).run() for i in range(load.options.connections)))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--report", required=True)
    parser.add_argument("--ca")
    parser.add_argument("--key-file")
    parser.add_argument("--admin-key-file")
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    load = Load(parser.parse_args())
    asyncio.run(run_all(load))
    with open(load.options.report, "w", encoding="ascii") as file:
        json.dump({"results": dict(sorted(load.results.items())), "opened": load.opened,
                   "retried": load.retried, "unexpected": len(load.unexpected)}, file, indent=2)
        file.write("\n")
    sys.exit(1 if load.unexpected else 0)


if __name__ == "__main__":
    main()
