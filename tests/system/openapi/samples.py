"""Requests on both sides of each bound of the document: a test asks a pawld what it says to them."""

_ID, _LONG = "c" * 22, "n" * 255
_SEVERAL = {"resources": ["a", "b"]}

# Method, path, and bodies. {} in a path becomes a name of the body's own.
BODIES = [
    ("POST", "/v1/locks/{}", [
        {}, {"ttl_ms": 100}, {"ttl_ms": 99}, {"ttl_ms": 86400001}, {"ttl_ms": "100"},
        {"ttl_ms": 100.5}, {"ttl_ms": None}, {"ttl_ms": True}, {"wait_ms": 0}, {"wait_ms": -1},
        {"wait_ms": 300000}, {"wait_ms": 300001}, {"owner": ""}, {"owner": "o" * 128},
        {"owner": "o" * 129}, {"owner": "a\nb"}, {"owner": "\u007f"}, {"owner": "\u0085"},
        {"owner": "\u00e4 \u20ac"}, {"owner": 1}, {"lock_id": _ID}, {"lock_id": _ID[1:]},
        {"lock_id": "d" * 64}, {"lock_id": "d" * 65}, {"lock_id": _ID + "="}, {"lock_id": ""},
        {"delay_ms": 0}, {"delay_ms": 1000}, {"delay_ms": -1}, {"delay_ms": 86400001},
        {"delay_ms": "1"}, {"ttl": 100}, [], 1, None]),
    ("POST", "/v1/locks", [
        {}, {"resources": ["a"]}, {"resources": ["a", "a"]}, {"resources": ["a", "b/"]},
        {"resources": "a"}, {"resources": ["a", 1]}, {"resources": []}, _SEVERAL,
        {"resources": [f"n/{i}" for i in range(64)]}, {"resources": [f"m/{i}" for i in range(65)]},
        {**_SEVERAL, "count": 1}]),
    ("POST", "/v1/semaphores/{}", [
        {}, {"permits": 1}, {"permits": 64}, {"permits": 0}, {"permits": 65}, {"permits": "1"},
        {"permits": 2, "ttl_ms": 99}, {"permits": 2, "lock_id": _ID}, {"permits": 2, "seat": 1}]),
    ("POST", "/v1/rwlocks/{}", [
        {}, {"mode": "read"}, {"mode": "write"}, {"mode": ""}, {"mode": "reads"}, {"mode": 1},
        {"mode": "read", "ttl_ms": 99}, {"mode": "write", "lock_id": _ID},
        {"mode": "read", "permits": 1}]),
    ("PATCH", "/v1/rwlocks/{}", [
        {}, {"seat": 0}, {"seat": 62}, {"seat": 63}, {"seat": -1}, {"ttl_ms": 99}, {"mode": "read"}]),
    ("POST", "/v1/counters/a", [
        {}, {"count": 1}, {"count": 0}, {"count": 1000000}, {"count": 1000001}, {"count": "1"},
        {"ttl_ms": 100}]),
    ("PATCH", "/v1/locks/{}", [{}, {"ttl_ms": 100}, {"ttl_ms": 99}, {"wait_ms": 1}]),
]

_NAMES = ["a", "a/b", "a/b/c", "A-Z.a_z~0:9@x", ".a", "..a", "a.", "...", "a/.../b", "a..b", _LONG,
          _LONG + "n", "a//b", "a/", "a/./b", "a/../b", "a/..", "a/.", ".", "..", "a%20b", "a%2Bb",
          "%C3%A4", "a%2Fb", "a/b%2F"]

_SEATS = ["a%230", "a/b%2363", "a%2364", "a%2300", "a%23", "%231", "..%231", "a%231%231",
          "a%23b", "a%23w", "a%23ww"]

# The parameter, method, path, the header where it is one, and values.
VALUES = [
    ("Resource", "GET", "/v1/locks/{}", None, _NAMES + _SEATS),
    ("Semaphore", "GET", "/v1/semaphores/{}", None,
     [_LONG[:251], _LONG[:252], *_NAMES, *_SEATS]),
    ("RwLock", "GET", "/v1/rwlocks/{}", None, [_LONG[:251], _LONG[:252], *_NAMES, *_SEATS]),
    ("Counter", "POST", "/v1/counters/{}", None, _NAMES),
    ("Limit", "GET", "/v1/locks?limit={}", None, [1, 1000, 0, 1001]),
    ("Prefix", "GET", "/v1/locks?prefix={}", None,
     ["", "a", "a/", "a/b", ".", "..", "a/..", "a/./", "../", "a//", "/", "/a", _LONG, _LONG + "n",
      "%20"]),
    ("Force", "DELETE", "/v1/locks/a?force={}", None, ["true", "false", "1"]),
    ("KeepMs", "DELETE", "/v1/locks/a?keep_ms={}", None, [0, 1000, 86400000, 86400001, -1, "a"]),
    ("LockId", "PATCH", "/v1/locks/a", "Lock-Id",
     [_ID, _ID[1:], "a" * 64, "a" * 65, _ID[1:] + "="]),
    ("WaitedMs", "POST", "/v1/locks/a", "Waited-Ms", [0, 60000, 86400001, -1, "1.5"]),
    ("FencingToken", "PATCH", "/v1/locks/a", "Fencing-Token", [1, 0, -1, 2 ** 53 - 1, 2 ** 53]),
    ("IfMatch", "DELETE", "/v1/locks/a?force=true", "If-Match",
     ['"1"', '"34"', "34", '"0"', '""', '"01"', '"-1"', '"a"', "*"]),
]
