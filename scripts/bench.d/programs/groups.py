"""CPU time of calls about several locks or seats, in pawld and in all masters, beside those about one
lock. One client, one connection. Prints one line of JSON for each kind of call.

usage: groups.py --port PORT --pawld PID --masters PID,... --seconds S"""

import argparse
import glob
import http.client
import json
import time

MANY = 64
BATCH = 40  # locks or groups that are taken before they are released
LEASE = 60000
LOCK_ID = "own-id-of-the-client-000001"


def cpu_us(pids):
    """Of all threads of these processes, so far (/proc/PID/task/TID/schedstat)."""
    total = 0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            with open(path) as file:
                total += int(file.read().split()[0])
    return total / 1000


class Client:
    def __init__(self, options):
        self.connection = http.client.HTTPConnection("127.0.0.1", options.port)
        self.pids = [[options.pawld], options.masters.split(",")]
        self.seconds = options.seconds

    def call(self, method, path, body=None, **headers):
        headers = {name.replace("_", "-"): str(value) for name, value in headers.items()}
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        response = self.connection.getresponse()
        return response.status, json.loads(response.read())

    def must(self, status, *args, **headers):
        found, body = self.call(*args, **headers)
        if found != status:
            raise SystemExit(f"groups: {args[:2]} is answered {found}: {body}")
        if any(each["status"] != 200 for each in body.get("responses", [])):
            raise SystemExit(f"groups: {args[:2]}: one of several is answered {body}")
        return body

    def measure(self, what, prepare, act):
        """@prepare() makes the arguments of some calls of @act, which are measured."""
        calls, spent, end = 0, [0.0, 0.0], time.monotonic() + self.seconds
        while time.monotonic() < end:
            prepared = prepare()
            before = [cpu_us(pids) for pids in self.pids]
            for args in prepared:
                act(*args)
            spent = [sum_ + cpu_us(pids) - was
                     for sum_, pids, was in zip(spent, self.pids, before)]
            calls += len(prepared)
        print(json.dumps({"what": what, "calls": calls, "pawld_us": spent[0] / calls,
                          "masters_us": spent[1] / calls}), flush=True)


def locks(client):
    own = {"lock_id": LOCK_ID, "ttl_ms": LEASE}
    groups = [[f"g{k}/{i}" for i in range(MANY)] for k in range(BATCH)]
    taken = {}

    def take_one(name):
        taken[name] = client.must(201, "POST", f"/v1/locks/{name}", own)["token"]

    def take_group(names):
        grants = client.must(201, "POST", "/v1/locks", {"resources": names, **own})["grants"]
        taken.update((each["resource"], each["token"]) for each in grants)

    def extend_one(name):
        client.must(200, "PATCH", f"/v1/locks/{name}", {"ttl_ms": LEASE}, Lock_Id=LOCK_ID,
                    Fencing_Token=taken[name])

    def extend_group(names):
        client.must(200, "PATCH", "/v1/locks", {"resources": names, "ttl_ms": LEASE,
                    "tokens": [taken[name] for name in names]}, Lock_Id=LOCK_ID)

    def release_one(name):
        client.must(200, "DELETE", f"/v1/locks/{name}", Lock_Id=LOCK_ID)

    def release_group(names):
        client.must(200, "DELETE", "/v1/locks", {"resources": names}, Lock_Id=LOCK_ID)

    def take_ones():
        for k in range(BATCH):
            take_one(f"one/{k}")
        return [(f"one/{k}",) for k in range(BATCH)]

    def take_groups():
        for names in groups:
            take_group(names)
        return [(names,) for names in groups]

    client.measure("release of one lock", take_ones, release_one)
    client.measure(f"release of {MANY} locks", take_groups, release_group)
    held_ones, held_groups = take_ones(), take_groups()
    client.measure("extend of one lock", lambda: held_ones, extend_one)
    client.measure(f"extend of {MANY} locks", lambda: held_groups, extend_group)
    client.measure("acquire of one lock that is held", lambda: held_ones,
                   lambda name: client.must(409, "POST", f"/v1/locks/{name}", {"ttl_ms": LEASE}))
    for names, in held_groups:
        release_group(names)
    for name, in held_ones:
        release_one(name)


def seats(client):
    body = {"permits": MANY, "ttl_ms": LEASE}
    held = [client.must(201, "POST", "/v1/semaphores/full", body) for _ in range(MANY)]
    some = [()] * BATCH
    client.measure(f"seat of {MANY} that are held", lambda: some,
                   lambda: client.must(409, "POST", "/v1/semaphores/full", body))
    client.measure("the same with its own lock id", lambda: some, lambda: client.must(
        409, "POST", "/v1/semaphores/full", {**body, "lock_id": LOCK_ID}))
    client.measure(f"show {MANY} seats", lambda: some,
                   lambda: client.must(200, "GET", "/v1/semaphores/full"))
    for seat in held:
        client.must(200, "DELETE", "/v1/locks/" + seat["resource"].replace("#", "%23"),
                    Lock_Id=seat["lock_id"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pawld", required=True)
    parser.add_argument("--masters", required=True)
    parser.add_argument("--seconds", type=float, default=4)
    client = Client(parser.parse_args())
    locks(client)
    seats(client)


if __name__ == "__main__":
    main()
