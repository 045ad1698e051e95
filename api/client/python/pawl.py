"""A client of Pawl: locks with fencing tokens, over HTTP. One file, the standard library only.

    import pawl

    client = pawl.Client()                      # the servers of PAWL_SERVER
    with client.lock("orders/42", ttl=30) as lock:
        write_guarded(..., token=lock.token)    # the data refuses an older token
        lock.check()                            # raises LockLost if the lock is no longer held

    async with client.alock("orders/42", ttl=30) as lock:
        ...                                     # cancelled if the lock cannot be kept

The client collects the calls of one turn of the asyncio loop, and sends these calls in one request.
A call that may wait for a lock is a separate request.

All times are seconds, and may be fractions. A thread extends the lock in the background, whenever a
third of the lease has passed. If the thread cannot extend the lock, it sets `lock.must_stop` in
time. The holder must then stop before `lock.left()` is 0. No call that hangs can delay this thread.

A lock ends at its deadline: the time at which the client sent the request, plus the validity in the
answer. The clock is CLOCK_BOOTTIME, which continues while the machine is suspended. So `held` is
right after a late answer, and after a pause of the process. Without this clock, the client uses
time.monotonic(), which may stop during a suspension, and subtracts a tenth of each validity.

A holder that pauses past its deadline still believes that it holds the lock. No client can prevent
this. So send the token with each write, and check the token at the data.

A call waits for a lock forever, unless `wait` limits the time. The client uses no proxy, because a
proxy would see the key. An answer of a gateway (502, 503, 504, 408, an HTML page) and a connection
that a gateway closes do not end a wait.

Threads: any number of threads may use one Client, or one Lock. The calls of a Lock wait for each
other. `held`, `left()` and `token` never wait for a call. While a C extension keeps the lock of the
interpreter, the client cannot extend locks.

Forks: clients and locks belong to the process that created them. A child of a fork holds no lock,
`must_stop` is set (no thread calls on_stop), and each call raises Forked. The child sends nothing,
and its end releases nothing. Create a new Client in the child. os.fork(), multiprocessing, prefork
servers and daemon() fork. So acquire locks after the call of daemon(). A child can still read the
token, for writes while the parent holds the lock.
"""

from __future__ import annotations

import asyncio
import base64
import collections
import contextlib
import functools
import http.client
import io
import json
import os
import re
import signal
import socket
import ssl
import sys
import threading
import time
import urllib.parse
import weakref

__all__ = [
    "AsyncLock", "AsyncWatch", "Client", "Error", "Exhausted", "Forked", "Held", "Invalid",
    "InvalidType", "Lock", "LockLost", "NewGrant", "ProtocolError", "Refused", "State",
    "Unavailable", "Watch", "now",
]

SERVER_DEFAULT = "http://127.0.0.1:7380"
SOCKET_DEFAULT = "unix:/run/pawl/pawld.sock"  # asked first, where this process may connect to it
SERVERS_MAX = 8
NAMES_MAX = 64  # that one lock can have
PERMITS_MAX = 64  # of a semaphore
READERS_MAX = 63  # seats that a fleet may have for a read-write lock
NAME_MAX = 255  # bytes of a name
OWNER_MAX = 128  # bytes of a label
KEY_MAX = 127  # bytes of a key
SOCKET_PATH_MAX = 107  # bytes of the path of a socket
ANSWER_MAX = 4 << 20  # bytes of a body
WIRE_MAX = 2 * ANSWER_MAX  # bytes of an answer, with its head and the marks of its chunks
TOKEN_MAX = (1 << 53) - 1  # a pawld gives no higher one
TTL_MAX = 24 * 3600.0  # no fleet allows a longer lease

_CALL_TIMEOUT = 5.0
_CONNECT_TIMEOUT = 2.0
_WAIT_STEP = 60.0  # what one request waits at the most: a stopped server is noticed then
_WATCH_STEP = 50.0  # what one look of a watch waits; proxies cut after 60 s, commonly
_PAUSE_LEAST = 0.05  # between two attempts, doubled each time
_PAUSE_MOST = 1.0
_CUT_LEAST = 0.5  # a request that waited so long was one to a pawld, or a gateway
_LATE = 0.5  # to release a lock whose validity has ended
_UNIX = "unix:"  # as pawld --listen spells it
_NAP_MOST = 0.5  # of the renewer: its naps do not count suspension
_FORK_STEP = 0.25  # a wait that a child of a fork is in ends so soon
_FOREVER = float("inf")
_SERVED_SLACK = 1.0  # two clocks, and their steps
_BATCH_MAX = 64  # calls in one request
_BATCH_BYTES_MAX = 60000  # of its body; a pawld takes 64 KiB
_TURN_MOST = 0.5  # that a call waits for the threads of the others of its turn

if hasattr(time, "CLOCK_BOOTTIME"):
    _MARGIN = 0.0

    def now() -> float:
        """The time on the clock of all deadlines, in seconds."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)
else:
    _MARGIN = 0.1  # of a validity, taken off

    def now() -> float:
        """The time on the clock of all deadlines, in seconds."""
        return time.monotonic()


# ---- text of others -----------------------------------------------------------------------------

_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # no pawld writes them


def _plain(text: str) -> str:
    """@text, fit for terminals and lines of logs: a server may be anybody's. Each byte of a control
    character becomes \\xNN, also of a change of the direction of writing."""
    return _ODD.sub(lambda match: "".join(f"\\x{byte:02x}" for byte in
                                          match[0].encode("utf-8", "surrogatepass")), text)


def _plain_json(value):
    """@value with plain strings; objects have them already. ValueError: a string has a NUL or half
    of a surrogate pair."""
    if isinstance(value, str):
        if _NO_TEXT.search(value):
            raise ValueError
        return _plain(value)
    return [_plain_json(item) for item in value] if isinstance(value, list) else value


def _plain_members(pairs):
    """An object of JSON with plain strings. The last of the same name counts, and none may be wrong.
    ValueError: a name is not plain."""
    if any(_ODD.search(name) for name, _ in pairs):
        raise ValueError
    return {name: _plain_json(value) for name, value in pairs}


def _refuse_constant(name):
    raise ValueError(name)  # NaN and Infinity are no JSON


def _parse_integer(text: str) -> int:
    value = int(text) if len(text) <= 20 else None
    if value is None or not -(1 << 63) <= value < 1 << 63:
        raise ValueError(text)
    return value


def _parse_real(text: str) -> float:
    value = float(text)
    if abs(value) == _FOREVER:
        raise ValueError(text)
    return value


def _parse_answer(body: bytes):
    """An answer as JSON with plain strings; None: it is none. All clients refuse the same ones."""
    try:
        return _plain_json(json.loads(body.decode(), object_pairs_hook=_plain_members,
                                      parse_constant=_refuse_constant, parse_int=_parse_integer,
                                      parse_float=_parse_real))
    except (ValueError, RecursionError):
        return None


# ---- errors -------------------------------------------------------------------------------------


class Error(Exception):
    """The base of all errors of this module. `type` is the type of the problem, such as "no-
    quorum", or "". `name` is the name of the lock, or None if the call was not about a lock."""

    name = None

    def __init__(self, message: str, type: str = ""):
        super().__init__(_plain(message))
        self.type = type


def _about(error: Error, verb: str, names) -> Error:
    """@error, which says that @names could not be acquired, say."""
    if error.name is None:
        error.name = names[0] if len(names) == 1 else None
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        error.args = (_plain(f"cannot {verb} {names[0]}{more}: {error}"),)
    return error


class Held(Error):
    """Another caller held the lock until the wait ended. Try again later. `name` is the name of the
    lock, and `owner` is the label of its holder. `retry_after` is the time in seconds until the
    lease ends, if the holder does not extend the lock. Each value is None if it is unknown."""

    def __init__(self, message, type="", name=None, owner=None, retry_after=None):
        super().__init__(message, type)
        self.name = name
        self.owner = owner
        self.retry_after = retry_after


class LockLost(Error):
    """The lock is no longer held, or an operator broke it (`type` is "lock-broken"): stop the
    work."""

    def __init__(self, message, type="", name=None):
        super().__init__(message, type)
        self.name = name


class NewGrant(LockLost):
    """An extension acquired the lock again. Another caller may have held the lock in between.
    `token` is the new token. Without take_new_grant, the lock counts as lost."""

    def __init__(self, message, token, name=None):
        super().__init__(message, name=name)
        self.token = token


class Unavailable(Error):
    """No server answered, or no server has a majority of its masters. Try again later. A held lock
    stays held until its deadline."""


class Exhausted(Error):
    """The lock has reached its extension limit. Acquire the lock again. The lock is held until its
    deadline."""


class Refused(Error):
    """The server or the client refused the call, and retrying will not help: read the message. If
    the caller itself holds the lock, `type` is "nested"."""


class Forked(LockLost, Refused):
    """The client or the lock belongs to the parent process of this fork. Create a new Client in this
    process, and acquire the lock with the new client. Nothing was sent."""


class Invalid(Refused, ValueError):
    """An argument is wrong, or the server reports a wrong argument: do not repeat the call."""


class InvalidType(Invalid, TypeError):
    """An argument has a wrong type."""


class ProtocolError(Error):
    """The answer did not come from a pawld: check the address."""


class _Aborted(Exception):
    """The call was given up by the one who made it."""


_PROBLEMS = {
    "held": Held,
    "wait-timeout": Held,
    "contended": Held,
    "lock-lost": LockLost,
    "lock-broken": LockLost,
    "extensions-exhausted": Exhausted,
    "no-quorum": Unavailable,
    "too-slow": Unavailable,
    "not-ready": Unavailable,
    "no-memory": Unavailable,
    "stopping": Unavailable,
    "busy": Unavailable,
    "too-many-waiters": Unavailable,
    "request-timeout": Unavailable,
}


# ---- forks --------------------------------------------------------------------------------------

_forks = 0  # that led to this process
_sockets = {}  # descriptors of connections, with their inodes


class _Owner:
    """The process that makes an object. Its pid alone does not tell it from a child: in a PID
    namespace of its own a child may have the same one. A fork in C is no fork that Python counts."""

    def __init__(self):
        self.pid = os.getpid()
        self._forks = _forks

    def is_here(self) -> bool:
        return self._forks == _forks and self.pid == os.getpid()

    def error(self, what: str) -> Forked:
        return Forked(f"{what} belongs to process {self.pid}. This process is a fork of it (daemon() "
                      "also forks), and holds no lock. Create a new client in this process, and "
                      "acquire the lock with the new client", "forked")

    def check(self, what: str = "this client"):
        """Raises Forked in a child."""
        if not self.is_here():
            raise self.error(what)


class _MustStop(threading.Event):
    """An event that is set in each child of a fork."""

    def __init__(self, owner: _Owner):
        super().__init__()
        self._owner = owner

    def is_set(self) -> bool:
        return super().is_set() or not self._owner.is_here()

    def wait(self, timeout=None) -> bool:
        end = time.monotonic() + (_FOREVER if timeout is None else timeout)
        while not self.is_set() and (left := end - time.monotonic()) > 0:
            super().wait(min(left, _FORK_STEP))
        return self.is_set()


def _cut_off(sockets: dict):
    """Puts /dev/null in the place of each socket. A thread of the parent may be in the middle of a
    message, and the peer notices the parent's end only when no child has the connection."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd, inode in sockets.items():
        try:
            if os.fstat(fd).st_ino == inode:
                os.dup2(null, fd, inheritable=False)
        except OSError:
            pass  # it was just closed
    os.close(null)


def _after_fork():
    """In a child, before its first step. No lock is taken: a thread of the parent may have it."""
    global _forks, _own_of_task, _own_mutex
    _forks += 1
    _own_of_task, _own_mutex = weakref.WeakKeyDictionary(), threading.Lock()
    try:
        if _sockets:
            _cut_off(_sockets)
    except OSError:
        pass  # no descriptor is left: the connections end with the child
    _sockets.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# ---- arguments ----------------------------------------------------------------------------------


def _bytes_of(what: str, text) -> int:
    """How many bytes @text has. Raises InvalidType and Invalid where it is no Unicode text."""
    if not isinstance(text, str):
        raise InvalidType(f"{what} is a string, not {text!r}")
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise Invalid(f"{what} {text!a} is not valid Unicode: it has half of a character") from None


def _seconds(what: str, value, fits, range_: str) -> float:
    """@value as a number for which @fits says yes. Raises InvalidType and Invalid."""
    if isinstance(value, (str, bytes, bytearray, bool)) or not hasattr(value, "__float__"):
        raise InvalidType(f"{what} must be a number of seconds, not {value!r}")
    try:
        seconds = float(value)
    except (OverflowError, TypeError, ValueError):
        seconds = float("nan")
    if not fits(seconds):
        raise Invalid(f"{what} is {range_}, not {value!r}")
    return seconds


def _ttl(value) -> float:
    return _seconds("ttl", value, lambda ttl: 0 < ttl < 1e9, "a number of seconds above 0")


def _pause(what: str, value) -> float:
    return _seconds(what, value, lambda pause: 0 <= pause < 1e9, "a number of seconds from 0 on")


def _check_call(what: str, function):
    if function is not None and not callable(function):
        raise InvalidType(f"{what} is a function, not {function!r}")


def _own_words(detail: str) -> str:
    """What a server says of a request, in the words and units of this module."""
    def in_seconds(match):
        said, least, most = (int(number) / 1000 for number in match.groups())
        return f"ttl is {said:g} seconds; it must be from {least:g} to {most:g}"
    detail = re.sub(r"ttl_ms is (\d+); it must be from (\d+) to (\d+)", in_seconds, detail)
    return detail.replace("The resource must", "A name must")


# ---- one call -----------------------------------------------------------------------------------


class _Abort:
    """Ends a call from another thread: its pause at once, its request by closing the connection.
    In a child of a fork the call ends, too."""

    def __init__(self):
        self._owner = _Owner()
        self._mutex = threading.Lock()
        self._set = threading.Event()
        self._end = None

    def set(self):
        with self._mutex:
            self._set.set()
            if self._end is not None:
                try:
                    self._end()
                except OSError:
                    pass  # the connection is closed already

    def watch(self, end):
        """@end, a function that ends what the call waits for, is to be called. None: nothing is.
        Raises _Aborted where it is too late."""
        with self._mutex:
            self._end = end
        if end is not None:
            self.check()

    def check(self):
        self._owner.check("this call")
        if self._set.is_set():
            raise _Aborted()

    def pause(self, seconds: float):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._set.wait(min(left, _FORK_STEP))
            self.check()


class _Reader(io.RawIOBase):
    """What comes from a socket until a time of the clock, however slowly it trickles, and however
    HTTP counts its bytes."""

    def __init__(self, connection, until: float):
        self._connection = connection
        self._until = until
        self._bytes = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        left = self._until - now()
        if left <= 0:
            raise TimeoutError("the answer came too slowly")
        self._connection.settimeout(max(left, 0.001))
        count = self._connection.recv_into(buffer)
        self._bytes += count
        if self._bytes > WIRE_MAX:
            raise ProtocolError("an answer is too long")
        return count

    def makefile(self, mode):  # what HTTPResponse asks a socket for
        return io.BufferedReader(self)


class _Response(http.client.HTTPResponse):
    """http.client passes over interim answers of status 100 alone, and a proxy may send others."""

    def begin(self):
        super().begin()
        while 100 <= self.status < 200:
            self.headers = self.msg = None
            super().begin()


class _Answer:
    """An answer: when its request left, its status, its JSON object, and its problem's type."""

    def __init__(self, server: str, sent: float, status: int, value):
        self.server = server
        self.sent = sent
        self.took = max(now() - sent, 0.0)
        self.status = status
        self.json = value
        is_json = self.json is not None
        if not isinstance(self.json, dict):
            self.json = {}
        type = self.text("type") or ""
        self.type = type[len("urn:pawl:"):] if type.startswith("urn:pawl:") else ""
        # None of a pawld: a gateway says that it waited too long, or another server answers.
        self.is_foreign = not self.type and (status >= 300 or not is_json)

    def part(self, response) -> _Answer:
        """The answer to one call of those that went together. @response is its status and body."""
        response = response if isinstance(response, dict) else {}
        status, body = response.get("status"), response.get("body")
        if type(status) is not int or not 200 <= status <= 599:
            status, body = 0, None  # none of a pawld
        part = _Answer(self.server, self.sent, status, body)
        part.took = self.took
        return part

    def integer(self, member: str, least: int, most: int) -> int:
        return _integer(self, self.json, member, least, most)

    def ttl(self, asked) -> float:
        """The lease of a grant for which @asked seconds were asked; None: the fleet's default."""
        most = TTL_MAX if asked is None else asked
        return self.integer("ttl_ms", 1, _milliseconds(most)) / 1000

    def text(self, member: str):
        value = self.json.get(member)
        return value if isinstance(value, str) else None

    def check(self, lock_id: str, names) -> None:
        """That it is about one of @names under @lock_id: a gateway can mix up its callers."""
        self.check_member("lock_id", [lock_id])
        self.check_member("resource", names)

    def check_member(self, member: str, texts) -> None:
        """That @member is missing, or one of @texts."""
        if member in self.json and self.text(member) not in texts:
            raise ProtocolError(f"{self.server} answers about another lock: a gateway between may "
                                "have mixed up the answers of its callers")

    def until(self, ttl: float) -> float:
        """The end of the validity that it grants, of a lease of @ttl seconds."""
        validity = self.integer("validity_ms", 0, _milliseconds(ttl))
        served = self.integer("served_ms", 0, int((self.took + _SERVED_SLACK) * 1000)) / 1000
        return self.sent + (min(served, self.took) + validity / 1000) * (1 - _MARGIN)

    def error(self) -> Error:
        """What a problem means."""
        detail = self.text("detail")
        if not self.type or detail is None:
            detail = f"{self.server} returned an unexpected {self.status}: is this a pawld?"
        kind = _PROBLEMS.get(self.type)
        name = self.text("resource")
        if kind is LockLost and name:
            broken = f"{name} was broken by {self.text('by') or 'an operator'}"
            lost = (f"{name} is no longer held under this lock id and token: stop the work, and "
                    "acquire it again")
            return LockLost(broken if self.type == "lock-broken" else lost, self.type, name)
        if kind is Held:
            return self.held(detail, name or None, self.text("owner"))
        if kind is None:
            if self.status >= 500 or self.status in (408, 429):  # a proxy's too
                kind = Unavailable
            elif not self.type:
                kind = ProtocolError
            else:
                kind = Invalid if self.status == 400 else Refused
        return kind(_own_words(detail), self.type)

    def held(self, detail, name, owner) -> Held:
        after = self.json.get("retry_after_ms")
        after = after / 1000 if type(after) is int and 0 <= after <= TOKEN_MAX else None
        if name is not None and self.type != "contended":
            detail = f"{name} is held by {owner or 'another caller'}"
            detail += f", for {after:.1f} s unless extended" if after is not None else ""
        return Held(detail, self.type, name, owner, after)


def _integer(answer: _Answer, values: dict, member: str, least: int, most: int) -> int:
    value = values.get(member)
    if type(value) is not int or not least <= value <= most:
        raise ProtocolError(f"{answer.server} returned an invalid {member}")
    return value


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _context_of_environment():
    """What https needs, from the files that the environment names."""
    context = ssl.create_default_context(cafile=os.environ.get("PAWL_CA_FILE") or None)
    cert = os.environ.get("PAWL_CERT")
    if cert:
        context.load_cert_chain(cert, os.environ.get("PAWL_CERT_KEY") or None)
    return context


def _parts(der: bytes, start: int, end: int):
    """What a DER value from @start to @end is made of: the tag, begin and end of each part."""
    while start < end:
        tag, length, start = der[start], der[start + 1], start + 2
        if length & 0x80:
            count = length & 0x7F
            length, start = int.from_bytes(der[start:start + count], "big"), start + count
        yield tag, start, start + length
        start += length


def _may_sign(der: bytes) -> bool:
    """Whether the key usage of the certificate @der has keyCertSign (RFC 5280, 4.2.1.3)."""
    _, start, end = next(_parts(der, 0, len(der)))
    _, start, end = next(_parts(der, start, end))  # what is signed
    for tag, start, end in _parts(der, start, end):
        if tag != 0xA3:  # the extensions
            continue
        _, start, end = next(_parts(der, start, end))
        for _, start, end in _parts(der, start, end):
            (_, begin, stop), *_, (_, value, value_end) = _parts(der, start, end)
            if der[begin:stop] == b"\x55\x1d\x0f":  # keyUsage
                _, bits, _ = next(_parts(der, value, value_end))
                return der[bits + 1] & 0x04 != 0
    return False


def _check_chain(connection):
    """Raises OSError where a certificate that is no authority signed that of the server. OpenSSL
    believes each one with CA:TRUE, which openssl req -x509 gives also to certificates of programs.
    The last of the chain is one that the caller believes."""
    wrapped = getattr(connection, "_sslobj", None)
    chain = getattr(connection, "get_verified_chain", getattr(wrapped, "get_verified_chain", None))
    if chain is None or connection.context.verify_mode != ssl.CERT_REQUIRED:
        return  # Python 3.9 does not tell
    for cert in (chain() or [])[1:-1]:
        der = cert if isinstance(cert, bytes) else cert.public_bytes(ssl._ssl.ENCODING_DER)
        if not _may_sign(der):
            raise ConnectionError("its certificate is not trusted: a certificate that is not a "
                                  "CA signed it (server/TLS.md)")


class _Server:
    """One server, and how it is asked. A connection serves one request."""

    def __init__(self, url: str, context, key: str):
        _bytes_of("a URL of a server", url)
        self.url = url
        self.takes_batches = True  # until it says otherwise
        self.key = key
        self.file = None  # the path of the socket
        self.context = None
        self.secure = False
        if url.startswith(_UNIX):
            self._take_file(url[len(_UNIX):])
        else:
            self._take_url(url, context)

    def _take_file(self, path: str):
        self.netloc, self.path = "localhost", ""
        if not path.startswith("/") or path == "/":
            raise Invalid(f"'{self.url}' has no absolute path; a socket is given as unix:/PATH, "
                          "such as unix:/run/pawl/pawld.sock")
        if len(path.encode()) > SOCKET_PATH_MAX or "\0" in path:
            raise Invalid(f"'{self.url}' is too long: the path of a socket has at most "
                          f"{SOCKET_PATH_MAX} bytes")
        if not hasattr(socket, "AF_UNIX"):
            raise Invalid(f"'{self.url}': this system has no such sockets")
        self.file = path

    def _take_url(self, url: str, context):
        if "@" in url:  # it may be a password, which no sentence shows
            raise Invalid("a server URL must have no user and no password; use a key instead")
        if "," in url:
            raise Invalid(f"'{url}' has a comma: give each server separately; in PAWL_SERVER put a space between two servers")
        url = url.rstrip("/")
        try:
            parts = urllib.parse.urlsplit(url)
            parts.hostname.encode("idna")
        except (AttributeError, ValueError):
            parts = None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname \
                or parts.query or parts.fragment or not re.fullmatch("[!-~]+", url):
            raise Invalid(f"'{self.url}' is not a valid URL of a server, such as {SERVER_DEFAULT}")
        try:
            port = parts.port
        except ValueError:
            port = 0
        if port == 0:
            raise Invalid(f"'{self.url}' has an invalid port: a port must be 1 to 65535")
        self.url = url
        self.netloc = parts.netloc
        self.path = parts.path
        self.secure = parts.scheme == "https"
        if self.secure and context is None:
            try:
                context = _context_of_environment()
            except OSError as error:
                raise Invalid(f"PAWL_CA_FILE, PAWL_CERT or PAWL_CERT_KEY: {error}") from error
        self.context = context
        self.address = (parts.hostname, port or (443 if self.secure else 80))

    def connect_file(self, timeout: float):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(timeout)
            connection.connect(self.file)
            return connection
        except BaseException:
            connection.close()
            raise

    def connect(self, timeout: float, abort: _Abort):
        timeout = min(max(timeout, 0.001), _CONNECT_TIMEOUT)
        connection = (socket.create_connection(self.address, timeout) if self.file is None
                      else self.connect_file(timeout))
        fd = connection.fileno()
        if hasattr(os, "fork"):
            _sockets[fd] = os.fstat(fd).st_ino
        try:
            abort.check()
            if self.file is not None:
                return connection
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            # Ends a long wait where the server's machine is gone, after about 25 seconds.
            for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
                if hasattr(socket, option):
                    connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
            if self.secure:
                connection = self.context.wrap_socket(connection,
                                                      server_hostname=self.address[0])
                _check_chain(connection)
            return connection
        except BaseException:
            _sockets.pop(fd, None)
            connection.close()
            raise

    def request(self, method: str, path: str, headers: dict, body) -> bytes:
        lines = [f"{method} {self.path}{path} HTTP/1.1", f"Host: {self.netloc}",
                 "Connection: close", "Content-Type: application/json"]
        if self.key:
            lines.append(f"Authorization: Bearer {self.key}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        text = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines += [f"Content-Length: {len(text)}", "", ""]
        return "\r\n".join(lines).encode("latin-1") + text


def _code_of(handler):
    """The code that runs when a signal comes; None: the interpreter's, or the system's."""
    handler = getattr(handler, "func", handler)  # of a partial
    method = getattr(handler, "__func__", handler)
    return getattr(method, "__code__", None) or getattr(getattr(type(method), "__call__", None),
                                                        "__code__", None)


def _is_of_handler(error) -> bool:
    """Whether a signal handler raised @error. Many raise TimeoutError, which is an OSError: it ends
    the call of the program, and says nothing of a server."""
    if threading.current_thread() is not threading.main_thread():
        return False
    codes = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code not in codes:
        trace = trace.tb_next
    return trace is not None


class _Call:
    """One request. `reached` says whether it may have reached a server, `cut` whether the
    connection was closed then without an answer, and `answer` is what came."""

    def __init__(self, method: str, path: str, body=None, headers=None):
        self.method = method
        self.path = path
        self.body = body
        self.headers = headers or {}
        self.reached = False
        self.cut = False
        self.answer = None

    def ask(self, server: _Server, timeout: float, abort: _Abort) -> _Answer:
        """Asks @server once. Raises Unavailable where no answer came within @timeout."""
        sent = now()
        self.reached = self.cut = False
        self.answer = connection = None
        try:
            connection = server.connect(timeout, abort)
            # Of the connection below TLS, which the other thread reads from.
            abort.watch(functools.partial(socket.socket.shutdown, connection, socket.SHUT_RDWR))
            self.reached = True
            connection.settimeout(max(sent + timeout - now(), 0.001))
            connection.sendall(server.request(self.method, self.path, self.headers, self.body))
            reader = _Reader(connection, sent + timeout)
            with _Response(reader, method=self.method) as response:
                response.begin()
                text = response.read(ANSWER_MAX + 1)
                if len(text) <= ANSWER_MAX and response.length:
                    raise http.client.IncompleteRead(text, response.length)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if _is_of_handler(error):
                raise
            abort.check()  # ValueError: a chunk has a size below 0
            self.cut = self.reached and isinstance(error, (ConnectionError,
                                                           http.client.IncompleteRead))
            said = str(error) or error.__class__.__name__
            cause = None if _ODD.search(said) else error  # a traceback would show it
            raise Unavailable(f"{server.url} does not answer: {said}") from cause
        finally:
            abort.watch(None)
            if connection is not None:
                _sockets.pop(connection.fileno(), None)
                connection.close()
        if len(text) > ANSWER_MAX:
            raise ProtocolError(f"the answer of {server.url} is too long")
        self.answer = _Answer(server.url, sent, response.status, _parse_answer(text))
        return self.answer

    def part(self):
        """The call as a part of a batch, in JSON. None: it comes alone, as it may wait for a lock or
        is about several."""
        if not self.path.startswith("/v1/locks/") or "?" in self.path or \
                (self.body or {}).get("wait_ms", 0) > 0:
            return None
        part = {"method": self.method, "path": self.path}
        if "Lock-Id" in self.headers:
            part["lock_id"] = self.headers["Lock-Id"]
        if "Fencing-Token" in self.headers:
            part["token"] = self.headers["Fencing-Token"]
        if self.body is not None:
            part["body"] = self.body
        return json.dumps(part)


# ---- calls that travel together -----------------------------------------------------------------

_of_thread = threading.local()  # seat: that of the call which this thread makes


class _Asked:
    """The first request of a call, which waits for others of its turn, and then for its answer."""

    def __init__(self, call: _Call, server: _Server, timeout: float, part: str):
        self.call = call
        self.server = server
        self.until = now() + timeout
        self.part = part
        self.sent = False  # with others
        self.answer = None
        self.error = None  # what answers it in place of an answer
        self.settled = threading.Event()  # it has one of both, or is to go alone

    def fail(self, error: Error):
        # Each thread has an error of its own: it adds what it was about.
        self.error = type(error)(str(error), error.type)
        self.error.__cause__ = error.__cause__
        self.settled.set()

    def wait(self, abort: _Abort):
        """Waits for the answer, no longer than the call would by itself. None: ask alone."""
        abort.watch(self.settled.set)
        try:
            if not self.settled.wait(max(self.until - now(), 0.0)):
                raise Unavailable(f"{self.server.url} does not answer: timed out")
            abort.check()
        finally:
            abort.watch(None)
        if self.error is not None:
            raise self.error
        self.call.answer = self.answer
        return self.answer


class _Batch:
    """Some calls of one turn, and the thread that asks for them. None of them can end it: others
    wait for it."""

    def __init__(self, asked: list):
        self.asked = asked
        self.server = asked[0].server

    def start(self):
        try:
            threading.Thread(target=self.run, name="pawl-batch", daemon=True).start()
        except RuntimeError:  # no more threads
            self.send_each()

    def run(self):
        text = f'{{"requests":[{",".join(one.part for one in self.asked)}]}}'
        call = _Call("POST", "/v1/batch", text.encode())
        try:
            timeout = max(one.until for one in self.asked) - now()
            answer = call.ask(self.server, timeout, _Abort())
        except Error as error:
            for one in self.asked:
                one.call.reached, one.call.cut = call.reached, call.cut
                one.fail(error)
        except BaseException:
            self.send_each()
            raise
        else:
            self.settle(answer)

    def settle(self, answer: _Answer):
        responses = answer.json.get("responses")
        if answer.status == 200 and isinstance(responses, list) and len(responses) == len(self.asked):
            for one, response in zip(self.asked, responses):
                one.answer = answer.part(response)
                one.settled.set()
        elif self.is_for_all(answer):
            for one in self.asked:
                one.answer = answer
                one.settled.set()
        else:
            # What is wrong with one call is 400 for all.
            self.server.takes_batches = answer.status == 400
            self.send_each()

    @staticmethod
    def is_for_all(answer: _Answer) -> bool:
        """Whether @answer is one to each call. A gateway may refuse batches alone."""
        return answer.status >= 500 or answer.status in (408, 429) \
            or (answer.status in (401, 403) and bool(answer.type))

    def send_each(self):
        for one in self.asked:
            one.settled.set()


class _Turn:
    """What a client is asked for in one turn of an event loop. Each call has a thread, which starts
    at the end of the turn. The first requests go together, once each call has asked for something or
    has left. A call that is the only one has no turn: it asks as a thread without a loop does."""

    def __init__(self, loop, owner: _Owner):
        self.loop = loop
        self._owner = owner
        self._starts = []
        self._mutex = threading.Lock()
        self._seats = 0  # of calls that asked for nothing yet
        self._asked = []

    def add_start(self, start):
        """At the end of the turn, @start is called with a seat, or None."""
        self._starts.append(start)

    def end(self):
        """No child of a fork starts what its parent was asked for."""
        self.loop = None
        if not self._owner.is_here():
            return
        self._seats = len(self._starts)
        for start in self._starts:
            start(_Seat(self) if len(self._starts) > 1 else None)
        self._starts.clear()

    def leave(self):
        with self._mutex:
            self._seats -= 1
            self._send_all()

    def add(self, asked: _Asked):
        with self._mutex:
            self._seats -= 1
            self._asked.append(asked)
            self._send_all()

    def give_up(self, asked: _Asked) -> bool:
        """Whether @asked was not sent, and will not be."""
        with self._mutex:
            if asked.sent:
                return False
            if asked in self._asked:
                self._asked.remove(asked)
            return True

    def _send_all(self):
        if self._seats > 0:
            return
        asked, self._asked = self._asked, []
        for server in {one.server for one in asked}:
            self._send_some([one for one in asked if one.server is server])

    @staticmethod
    def _send_some(asked: list):
        while asked:
            count = size = 0
            while count < min(len(asked), _BATCH_MAX):
                size += len(asked[count].part) + 1
                if size > _BATCH_BYTES_MAX and count > 0:
                    break
                count += 1
            some, asked = asked[:count], asked[count:]
            for one in some:
                one.sent = True
            batch = _Batch(some)
            if count > 1:
                batch.start()
            else:
                batch.send_each()


class _Seat:
    """A call's in a turn, until it asks for something."""

    def __init__(self, turn: _Turn):
        self._turn = turn

    def leave(self):
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.leave()

    def ask(self, call: _Call, server: _Server, timeout: float, abort: _Abort):
        """The answer to @call, which went with others; None: it did not."""
        part = call.part() if self._turn is not None and server.takes_batches else None
        if part is None:
            self.leave()
            return None
        turn, self._turn = self._turn, None
        call.reached, call.cut, call.answer = True, False, None  # as far as it is known
        asked = _Asked(call, server, timeout, part)
        turn.add(asked)
        if not asked.sent and not asked.settled.wait(min(timeout, _TURN_MOST)) \
                and turn.give_up(asked):
            return None
        return asked.wait(abort)


def _ask_gathered(call: _Call, server: _Server, timeout: float, abort: _Abort):
    seat = getattr(_of_thread, "seat", None)
    return None if seat is None else seat.ask(call, server, timeout, abort)


def _leave_turn():
    """This thread waits for another one: the others of its turn do not wait for it."""
    seat = getattr(_of_thread, "seat", None)
    if seat is not None:
        seat.leave()


def _turn_of(client: Client) -> _Turn:
    """The turn of the running loop that is not over."""
    loop = asyncio.get_running_loop()
    turn = client._turn
    if turn is None or turn.loop is not loop:
        turn = client._turn = _Turn(loop, client._owner)
        loop.call_soon(turn.end)
    return turn


class _Patience:
    """How long to go on trying."""

    def __init__(self, until: float, abort: _Abort):
        self.until = until
        self.abort = abort
        self.seconds = _PAUSE_LEAST

    def pause(self) -> bool:
        """Pauses before the next attempt. False: the time is over."""
        left = self.until - now()
        if left <= 0:
            return False
        self.abort.pause(min(self.seconds, left))
        self.seconds = min(self.seconds * 2 or _PAUSE_LEAST, _PAUSE_MOST)
        return True


# ---- client -------------------------------------------------------------------------------------


def _default_server() -> str:
    path = SOCKET_DEFAULT.removeprefix(_UNIX)
    effective = os.access in os.supports_effective_ids
    return SOCKET_DEFAULT if os.access(path, os.W_OK, effective_ids=effective) else SERVER_DEFAULT


class Client:
    """The servers of one fleet. If a server does not answer, the client tries the next server.

    servers: up to 8 URLs such as "http://127.0.0.1:7380". "unix:/run/pawl/pawld.sock" is the socket
    of pawld --listen. None: the servers in PAWL_SERVER, separated by spaces. Without PAWL_SERVER,
    the server is unix:/run/pawl/pawld.sock if this process may connect to it, else
    http://127.0.0.1:7380.
    call_timeout: maximum time of a call in seconds, in addition to its wait for a lock.
    ssl_context: for https. None: the client trusts the certificates in PAWL_CA_FILE, or in the
    store of the system. If PAWL_CERT is set, the client presents this certificate, with the key in
    PAWL_CERT_KEY.
    key: "pawl_...", if the servers require keys. None: the key in PAWL_KEY, or no key. Each call
    sends the key, so use https for servers on other machines.

    Raises Invalid for a wrong URL or key, or for a file that cannot be read."""

    def __init__(self, servers=None, call_timeout: float = _CALL_TIMEOUT, ssl_context=None,
                 key=None):
        if servers is None:
            servers = os.environ.get("PAWL_SERVER", "").split() or [_default_server()]
        elif isinstance(servers, str):
            servers = servers.split()
        elif not isinstance(servers, (list, tuple)):
            raise InvalidType(f"servers must be a list of URLs, not {servers!r}")
        if not 1 <= len(servers) <= SERVERS_MAX:
            raise Invalid(f"a client must have 1 to {SERVERS_MAX} servers")
        if key is None:
            key = os.environ.get("PAWL_KEY", "")
        if not isinstance(key, str):
            raise InvalidType("a key must be a string")  # it is not shown
        if len(key) > KEY_MAX or not all("!" <= character <= "~" for character in key):
            raise Invalid(f"a key must be one word of at most {KEY_MAX} characters")
        self._owner = _Owner()
        if ssl_context is not None and not hasattr(ssl_context, "wrap_socket"):
            raise InvalidType(f"ssl_context must be an ssl.SSLContext, not {ssl_context!r}")
        self._call_timeout = _seconds("call_timeout", call_timeout, lambda most: 0 < most <= 600,
                                      "a number of seconds above 0 and at most 600")
        self._servers = [_Server(url, ssl_context, key) for url in servers]
        self._urls = {server.url for server in self._servers}
        self._current = 0  # the one to ask next
        self._asks_at_once = True  # about several locks, until a server does not know that
        self._turn = None  # the last turn of a loop in which asyncio asked for something

    def __getstate__(self):
        return {**self.__dict__, "_turn": None}

    def __setstate__(self, state):
        """A copy that was sent to another process, as multiprocessing does, is a new client."""
        self.__dict__.update(state)
        self._owner = _Owner()

    def lock(self, *names, ttl=None, wait=None, owner=None, notice=None, on_stop=None,
             on_wait=None, take_new_grant=False, permits=None, mode=None, delay=None):
        """A lock for a `with` statement, which gets a Lock. The client extends the lock during the
        block, and releases the lock at the end of the block.

        names: one name, or a list of names. The client acquires all names or none.
        ttl: the lease, from 0.1 seconds to the fleet's longest lease. None: the default of the
        fleet, 30.
        wait: maximum wait for a held lock. None: forever. 0: no wait.
        owner: a label that others see.
        notice: time before the deadline at which the client sets `must_stop`, if it could not
        extend the lock. None: a sixth of the lease. At most half of the lease.
        on_stop: the client calls this function with the Lock in a background thread, when it sets
        `must_stop`. The function must not wait for long.
        on_wait: the client calls this function with a Held before the wait begins, at most once.
        take_new_grant: True: if an extension is a new grant, the Lock gets the new token. The
        holder must then read `token` again, and read its data again. False: the lock is lost.
        permits: the name is the name of a semaphore with this number of seats, 1 to 64. The client
        acquires one seat (Lock.seat).
        mode: "read" or "write". The name is the name of a read-write lock.
        delay: time for which the name stays closed after the lease expires. A release opens the
        name at once. The sum of ttl and delay is at most the fleet's longest lease.

        Raises the same errors as acquire(). At the end of a block without an exception, raises
        LockLost if the lock was lost during the block. The client tries to release the lock for the
        call timeout, or for half a second after the end of the validity. If no server answers, the
        lease ends by itself."""
        request = _Request(names, ttl, wait, owner, on_wait, permits, mode, delay)
        return _Block(self, request, dict(notice=notice, on_stop=on_stop,
                                          take_new_grant=take_new_grant))

    def acquire(self, *names, ttl=None, wait=None, owner=None, on_wait=None,
                take_new_grant=False, permits=None, mode=None, delay=None) -> Lock:
        """Acquires a lock, with the arguments of lock(), and returns the Lock. The client does not
        extend the lock until Lock.renew() is called, and releases the lock only in Lock.release().

        If an answer is lost, the client repeats the call under the same lock id, so no unknown lock
        is left behind. If no server answers from the start, the call fails after the call timeout.

        A thread (with asyncio: a task) that waits forever for a lock that it holds gets Refused. In
        a block of lock(), any wait for the lock of that block gets Refused. If another thread will
        release a lock of acquire(), limit the wait, or use another Client.

        Raises Held, Unavailable, Refused, Invalid, ProtocolError, Forked."""
        request = _Request(names, ttl, wait, owner, on_wait, permits, mode, delay)
        _check_own(self, request)
        lock = _acquire(self, request, take_new_grant, _Abort())
        _note_own(lock)
        return lock

    def alock(self, *names, ttl=None, wait=None, owner=None, notice=None, on_wait=None,
              take_new_grant=False, cancel=True, permits=None, mode=None, delay=None):
        """lock() for `async with`, which gets an AsyncLock. HTTP calls run in threads.

        cancel: True: when `must_stop` is set, the client cancels the block in time, and `async
        with` raises LockLost. False: check `must_stop`, or await wait_stop().

        If the task is cancelled during the acquisition, the client first releases what it may have
        acquired, for at most the call timeout. Then CancelledError continues."""
        request = _Request(names, ttl, wait, owner, on_wait, permits, mode, delay)
        return _AsyncBlock(self, request, cancel, dict(notice=notice,
                                                       take_new_grant=take_new_grant))

    async def aacquire(self, *names, ttl=None, wait=None, owner=None, on_wait=None,
                       take_new_grant=False, permits=None, mode=None, delay=None) -> AsyncLock:
        """acquire() for asyncio. The client calls on_wait in another thread."""
        self._owner.check()
        request = _Request(names, ttl, wait, owner, on_wait, permits, mode, delay)
        _check_own(self, request)
        lock = await _acquire_in_thread(self, request, take_new_grant)
        _note_own(lock)
        return AsyncLock(lock)

    def watch(self, name, wait=None) -> Watch:
        """The states of the lock @name, for `for state in client.watch("leader"):`. The first State
        is the current state, and each further State is a change. A watch acquires no lock.

        wait: duration of the watch. None: forever. 0: only the current state. To end the watch,
        call Watch.close() from another thread.

        If several changes come at once, the watch reports only the last change. If the lock was
        released and acquired again, the token is higher. A reported holder may have ended already,
        so only a resource that checks tokens is certain. After the first answer, failures of
        servers and gateways do not end a watch.

        Iterating raises Unavailable (you can then continue), Refused, Invalid, ProtocolError,
        Forked."""
        self._owner.check()
        return Watch(self, name, wait)

    def awatch(self, name, wait=None) -> AsyncWatch:
        """watch() for `async for`. If the task is cancelled, the wait for the next state ends."""
        self._owner.check()
        return AsyncWatch(Watch(self, name, wait))

    # -- for this file --

    def _ask(self, call: _Call, timeout: float, abort: _Abort) -> _Answer:
        """Asks the current server once. Where it has no answer, or may not answer the next time,
        the next call asks the next one."""
        self._owner.check()
        at = self._current
        try:
            answer = _ask_gathered(call, self._servers[at], timeout, abort) \
                or call.ask(self._servers[at], timeout, abort)
        except Unavailable:
            self._current = (at + 1) % len(self._servers)
            raise
        if answer.status >= 300 or answer.is_foreign:
            error = answer.error()
            if isinstance(error, Unavailable):
                self._current = (at + 1) % len(self._servers)
            raise error
        return answer

    def _ask_until(self, call: _Call, until: float) -> _Answer:
        """Repeats until there is an answer that is no reason to repeat. Each server gets its share
        of the time, so that one that hangs does not use it up."""
        patience = _Patience(until, _Abort())
        share = max(until - now(), 0.001) / len(self._servers)
        while True:
            try:
                return self._ask(call, min(share, until - now()), patience.abort)
            except Unavailable:
                if not patience.pause() or now() >= until:
                    raise


class _Request:
    """What is wanted, checked."""

    def __init__(self, names, ttl, wait, owner, on_wait, permits=None, mode=None, delay=None):
        if len(names) == 1 and not isinstance(names[0], str):
            names = names[0]
        try:
            self.names = tuple(names)
        except TypeError:
            raise InvalidType(f"a name must be a string, not {names!r}") from None
        if not 1 <= len(self.names) <= NAMES_MAX:
            raise Invalid(f"a lock must have 1 to {NAMES_MAX} names")
        for name in self.names:
            if not 1 <= _bytes_of("a name", name) <= NAME_MAX:
                raise Invalid(f"a name must have 1 to {NAME_MAX} bytes, not {len(name.encode())}")
        if len(set(self.names)) < len(self.names):
            raise Invalid("a name is given twice")
        if permits is not None:
            if not isinstance(permits, int) or not 1 <= permits <= PERMITS_MAX:
                raise Invalid(f"permits must be 1 to {PERMITS_MAX}, not {permits!r}")
            if len(self.names) > 1:
                raise Invalid("a semaphore has one name")
        if mode not in (None, "read", "write"):
            raise Invalid(f"mode is 'read' or 'write', not {mode!r}")
        if mode is not None and (permits is not None or len(self.names) > 1):
            raise Invalid("a read-write lock has one name, and no permits")
        self.permits = permits
        self.mode = mode
        # The locks of a writer are extended and released by the name. A reader has a lock.
        self.kind = "rwlocks" if mode == "write" else "locks"
        # How many seats the name may have; None: the lock is the name's alone.
        self.seats = {None: permits, "read": READERS_MAX, "write": None}[mode]
        if owner is not None and _bytes_of("owner", owner) > OWNER_MAX:
            raise Invalid(f"owner must have at most {OWNER_MAX} bytes")
        _check_call("on_wait", on_wait)
        self.ttl = None if ttl is None else _ttl(ttl)
        self.delay = 0.0 if delay is None else _pause("delay", delay)
        self.wait = None if wait is None else _seconds(
            "wait", wait, lambda seconds: seconds >= 0, "None or a number of seconds from 0 on")
        self.owner = owner
        self.on_wait = on_wait


def _path(name: str, kind: str = "locks") -> str:
    return f"/v1/{kind}/" + urllib.parse.quote(name, safe="._~:@/-")


# ---- locks of the caller -------------------------------------------------------------------------

_own_of_thread = threading.local()
_own_of_task = weakref.WeakKeyDictionary()
_own_mutex = threading.Lock()


def _task():
    """The task that runs. None: a thread without asyncio."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _own_locks() -> list:
    """Weak references to the locks that this task or thread acquired; those that are held."""
    task = _task()
    with _own_mutex:
        locks = vars(_own_of_thread).setdefault("locks", []) if task is None \
            else _own_of_task.setdefault(task, [])
    locks[:] = [own for own in locks if getattr(own(), "held", False)]
    return locks


def _note_own(lock: Lock, is_block: bool = False):
    lock._is_block = is_block
    _own_locks().append(weakref.ref(lock))


def _waits_for_itself(lock: Lock, client: Client, request: _Request) -> bool:
    """A block releases its lock at its end, which does not come while it waits. Another thread may
    release one that acquire() made, so that a wait of some seconds for it makes sense."""
    if lock._is_block:
        return lock._client._urls == client._urls
    return lock._client is client and request.wait is None


def _check_own(client: Client, request: _Request):
    """Raises Refused where the caller would wait for a lock that it holds itself."""
    if request.wait == 0:
        return
    for lock in filter(None, [own() for own in _own_locks()]):
        for name in filter(lock.names.__contains__, request.names):
            if not _waits_for_itself(lock, client, request):
                continue
            caller = "thread" if _task() is None else "task"
            error = Refused(f"this {caller} already holds {name} and would wait for itself: "
                            "release the lock first, or do not wait (wait=0)", "nested")
            error.name = name
            raise error


# ---- acquiring ----------------------------------------------------------------------------------


class _Waiting:
    """A call that waits at a server: attempts, until one ends it or its time is over. A server that
    answered before is waited for until the end of the wait. No answer from the start on: only for a
    call's timeout."""

    def __init__(self, client: Client, until: float, abort: _Abort):
        self.client = client
        self.until = until  # the end of the wait
        self.abort = abort
        self.told = len(client._servers) == 1  # the next attempt waits
        self.answered = False  # a pawld or its gateway did: then it is worth to wait for it
        self.asked = 0.0  # when the last attempt began
        self.waits = 0.0  # what it was to wait
        self.first = now() + client._call_timeout
        self.patience = _Patience(self.first, abort)

    def left(self, most: float) -> float:
        """How long an attempt may wait now. The first one waits for nothing where it is not known
        which of several servers answers."""
        return min(max(self.until - now(), 0.0), most) if self.told else 0.0

    def did_wait(self) -> bool:
        """Whether the last attempt waited at a pawld. What ends such a wait is a gateway that cuts
        it."""
        return self.waits > 0 and now() - self.asked >= _CUT_LEAST

    def ask(self, call: _Call, wait: float) -> _Answer:
        self.asked, self.waits = now(), wait
        client = self.client
        try:
            answer = client._ask(call, wait + client._call_timeout / len(client._servers),
                                 self.abort)
        except (Held, Refused, Exhausted, LockLost):
            self.answered = True
            raise
        except ProtocolError as error:
            if call.answer is not None and call.answer.is_foreign \
                    and (self.answered or self.did_wait()):
                self.answered = True
                raise Unavailable(str(error)) from error  # a page of a gateway
            raise
        except BaseException:
            self.answered = self.answered or call.answer is not None \
                or (call.cut and self.did_wait())
            raise
        self.answered = True
        return answer

    def goes_on(self) -> bool:
        """Pauses before the next attempt. False: there is none. A wait that a gateway cut at its
        very end is followed by one more attempt, which says how the lock is."""
        did = self.did_wait()
        if did:
            self.patience.seconds = 0.0  # it was no hot loop, and its place is kept for a moment
        if self.answered and self.until > self.first:
            self.patience.until = self.until
        return self.patience.pause() or (did and self.answered)


class _Acquisition(_Waiting):
    """Attempts under one lock id, until one is granted or the time is over."""

    def __init__(self, client: Client, request: _Request, until: float, abort: _Abort):
        super().__init__(client, until, abort)
        self.request = request
        self.lock_id = base64.urlsafe_b64encode(os.urandom(21)).decode()
        self.began = now()
        # Where somebody wants to hear who is in the way, the first attempt waits for nothing.
        self.told = self.told and request.on_wait is None
        self.in_doubt = False  # an attempt may have left the lock behind

    def call(self, wait: float) -> _Call:
        request = self.request
        body = {"lock_id": self.lock_id, "wait_ms": int(wait * 1000)}
        headers = {"Waited-Ms": int((now() - self.began) * 1000)}
        if request.ttl is not None:
            body["ttl_ms"] = int(request.ttl * 1000)
        if request.delay > 0:
            body["delay_ms"] = int(request.delay * 1000)
        if request.owner is not None:
            body["owner"] = request.owner
        if request.permits is not None:
            body["permits"] = request.permits
            return _Call("POST", _path(request.names[0], "semaphores"), body, headers)
        if request.mode is not None:
            body["mode"] = request.mode
            return _Call("POST", _path(request.names[0], "rwlocks"), body, headers)
        if len(request.names) == 1:
            return _Call("POST", _path(request.names[0]), body, headers)
        body["resources"] = list(request.names)
        return _Call("POST", "/v1/locks", body, headers)

    def attempt(self) -> _Answer:
        wait = self.left(_WAIT_STEP)
        call = self.call(wait)
        try:
            answer = self.ask(call, wait)
            if answer.status not in (200, 201):
                raise answer.error()
        except (Held, Refused, Exhausted, LockLost):
            raise
        except BaseException:
            self.in_doubt = self.in_doubt or call.reached
            raise
        self.in_doubt = True  # until the answer is understood, and its lock is somebody's
        return answer

    def attempts(self) -> _Answer:
        """One attempt after the other. Another one's lock is waited for as a server that answered."""
        while True:
            try:
                return self.attempt()
            except Held as held:
                if now() >= self.until:
                    raise
                self.patience.seconds = _PAUSE_LEAST
                if not self.told:
                    self.told = True
                    if self.request.on_wait is not None:
                        self.request.on_wait(held)
                    continue
                error = held
            except Unavailable as unavailable:
                error = unavailable
            if not self.goes_on():
                raise error

    def run(self, take_new_grant: bool) -> Lock:
        try:
            answer = self.attempts()
            ttl = answer.ttl(self.request.ttl)
            tokens = self.tokens(answer)
            answer.check(self.lock_id, [*self.request.names, *tokens])
            lock = Lock(self.client, self.lock_id, ttl, tokens, answer.until(ttl),
                        take_new_grant, self.request.kind)
            self.abort.check()
        except BaseException:
            if self.in_doubt:
                self.clean_up()
            raise
        if not lock.held:
            self.clean_up()
        return lock

    def tokens(self, answer: _Answer) -> dict:
        names = self.request.names
        if self.request.seats is not None:
            names = [answer.text("resource") or ""]
            name, _, seat = names[0].rpartition("#")
            if name != self.request.names[0] or \
                    seat not in map(str, range(self.request.seats)):
                raise ProtocolError(f"{answer.server} granted a seat without a valid index")
        if len(names) == 1:
            return {names[0]: answer.integer("token", 1, TOKEN_MAX)}
        grants = answer.json.get("grants")
        found = {grant.get("resource"): _integer(answer, grant, "token", 1, TOKEN_MAX)
                 for grant in (grants if isinstance(grants, list) else [])
                 if isinstance(grant, dict)}
        if any(name not in found for name in names):
            raise ProtocolError(f"{answer.server} granted a lock without a token")
        return {name: found[name] for name in names}

    def clean_up(self):
        """Nobody else knows the lock id: what an attempt may have left behind would stay until its
        lease ends. Of a semaphore it may be any seat."""
        names = self.request.names
        if self.request.permits is not None:
            names = [f"{names[0]}#{seat}" for seat in range(self.request.permits)]
        kind = "locks" if self.request.mode is None else "rwlocks"
        try:
            _release(self.client, names, self.lock_id,
                     now() + self.client._call_timeout, kind)
        except Error:
            pass  # the lease ends by itself


def _acquire(client: Client, request: _Request, take_new_grant: bool, abort: _Abort) -> Lock:
    until = now() + (_FOREVER if request.wait is None else request.wait)
    try:
        while True:  # again only where an answer came after its own validity had ended
            lock = _Acquisition(client, request, until, abort).run(take_new_grant)
            client._owner.check()
            if lock.held:
                return lock
            if now() >= until:
                raise Unavailable("the lock was granted, but its validity had ended when the "
                                  "answer came")
    except Error as error:
        raise _about(error, "acquire", request.names)


def _ask_at_once(client: Client, method: str, lock_id: str, body: dict, until: float) -> dict:
    """Asks for all resources of @body in one request. Returns the answers that are successes, by name:
    any other name is to be asked for by itself. Takes a share of the time, so that this can be."""
    names = body["resources"]
    if len(names) == 1 or not client._asks_at_once:
        return {}
    call = _Call(method, "/v1/locks", body, {"Lock-Id": lock_id})
    try:
        timeout = (until - now()) / (len(client._servers) + 1)
        answer = client._ask(call, timeout, _Abort())
    except Forked:
        raise
    except Error:
        answer = call.answer
        if answer is not None and not answer.is_foreign and answer.status in (404, 405):
            client._asks_at_once = False  # an older pawld, and not a gateway
        return {}
    responses = answer.json.get("responses")
    if not isinstance(responses, list) or len(responses) != len(names):
        return {}
    parts = ((name, answer.part(response)) for name, response in zip(names, responses))
    return {name: part for name, part in parts if part.status in (200, 201)}


def _release(client: Client, names, lock_id: str, until: float, kind: str = "locks",
             keep: float = 0.0) -> bool:
    released = True
    error = None
    body = {"resources": list(names)}
    if keep > 0:
        body["keep_ms"] = int(keep * 1000)
    query = f"?keep_ms={body['keep_ms']}" if keep > 0 else ""
    answers = _ask_at_once(client, "DELETE", lock_id, body, until)
    for name in names:
        call = _Call("DELETE", _path(name, kind) + query, headers={"Lock-Id": lock_id})
        try:
            answer = answers.get(name) or client._ask_until(call, until)
            released = released and answer.json.get("released") is True
        except Error as failed:
            error = _about(failed, "release", [name])
    if error is not None:
        raise error
    return released


# ---- watching -----------------------------------------------------------------------------------


class State(collections.namedtuple("State", ("held", "token", "owner"))):
    """The state of a lock. `token` is the token of the current grant, and `owner` is the label of
    its holder. Both are None if the lock is free."""

    __slots__ = ()


def _state_of(answer: _Answer, name: str):
    """The lock @name as @answer tells it. None: the masters differ on the holder's token, as a grant is
    on its way, or ended halfway."""
    held = answer.json.get("held")
    if answer.status != 200 or not isinstance(held, bool):
        raise ProtocolError(f"{answer.server} reported a lock without a valid holder")
    answer.check_member("resource", [name])
    if not held:
        return State(False, None, None)
    if "token" in answer.json and answer.json["token"] is None:
        return None
    return State(True, answer.integer("token", 1, TOKEN_MAX), answer.text("owner") or "")


def _look_path(name: str, known, wait: float) -> str:
    if known is None:
        return _path(name)
    return f"{_path(name)}?unless={known.token or 'free'}&wait_ms={int(wait * 1000)}"


def _look(client: Client, name: str, known, until: float, abort: _Abort):
    """The first state that is not @known (None: nothing is). None: the wait is over. A server that
    answers sooner than it was asked to, and with nothing new, is asked again after a pause, as one
    that fails."""
    waiting = _Waiting(client, until, abort)
    waiting.answered = known is not None
    while True:
        told = waiting.told
        wait = waiting.left(_WATCH_STEP) if known is not None else 0.0
        error = None
        try:
            call = _Call("GET", _look_path(name, known, wait))
            state = _state_of(waiting.ask(call, wait), name)
            waiting.told = True
            if state is not None and (known is None or state.token != known.token):
                return state
            if now() >= until:
                return None
            if known is not None and not told:
                continue  # it did not wait: the next one does
        except Unavailable as unavailable:
            error = unavailable
        except Error as failed:
            raise _about(failed, "watch", [name])
        if not waiting.goes_on():
            if error is None:
                return None
            raise _about(error, "watch", [name])


class Watch:
    """The states of a lock, for a `for` statement. Client.watch() creates a Watch. One thread at a
    time may iterate."""

    def __init__(self, client: Client, name: str, wait):
        _bytes_of("a name", name)
        self._client = client
        self._name = _Request([name], None, wait, None, None).names[0]
        self._until = now() + (_FOREVER if wait is None else float(wait))
        self._state = None  # that was told last
        self._abort = _Abort()

    def __iter__(self):
        return self

    def __next__(self) -> State:
        try:
            self._abort.check()
            state = self._look(self._abort)
        except _Aborted:
            raise StopIteration from None
        if state is None:
            raise StopIteration
        self._state = state
        return state

    def close(self):
        """Ends the iteration. Any thread may call this method, even while another thread waits."""
        self._abort.set()

    def _look(self, abort: _Abort):
        return _look(self._client, self._name, self._state, self._until, abort)


# ---- the lock -----------------------------------------------------------------------------------


class Lock:
    """A lock that was acquired. Client.lock() and Client.acquire() create a Lock.

    names: the names of the lock. lock_id: the secret of the holder. ttl: the lease in seconds.
    must_stop: a threading.Event. The client sets this event when it can no longer extend the lock,
    and `reason` then has the cause. The holder must stop before left() is 0. release() does not set
    the event."""

    def __init__(self, client, lock_id, ttl, tokens, deadline, take_new_grant, kind="locks"):
        self.names = tuple(tokens)
        self._kind = kind  # in paths
        self.lock_id = lock_id
        self.ttl = ttl
        self._owner = client._owner  # also where a fork came in between
        self.must_stop = _MustStop(self._owner)
        self._reason = None
        self._client = client
        self._mutex = threading.RLock()  # guards what follows; never held during a call
        self._changed = threading.Condition(self._mutex)  # what the renewer's threads wait for
        self._tokens = tokens
        self._deadlines = dict.fromkeys(tokens, deadline)
        self._lost = False
        self._released = False
        self._calls = threading.RLock()  # one call at a time
        self._take_new_grant = take_new_grant
        self._renewer = None
        self._is_block = False  # a block releases it

    def __reduce__(self):
        raise Invalid(f"the lock {', '.join(self.names)} cannot be sent to another process: send "
                      "its token, or acquire the lock there")

    def __repr__(self):
        return f"<pawl.Lock {' '.join(self.names)} tokens={self.tokens} left={self.left():.3f}>"

    # -- questions; any thread, at any time --

    @property
    def held(self) -> bool:
        """True if the lock is held now, by the clock. After False, never True again."""
        return self.left() > 0

    def left(self) -> float:
        """Seconds until the deadline. 0: the lock has ended, is lost or is released."""
        if not self._owner.is_here():
            return 0.0
        with self._mutex:
            if self._lost or self._released:
                return 0.0
            return max(min(self._deadlines.values()) - now(), 0.0)

    @property
    def deadline(self) -> float:
        """The time of now() at which the lock ends without an extension. In a child of a fork: 0."""
        if not self._owner.is_here():
            return 0.0
        with self._mutex:
            return min(self._deadlines.values())

    @property
    def seat(self):
        """The index of the seat of a semaphore, or of a reader. None: the lock has no seat."""
        index = self.names[0].partition("#")[2]
        return int(index) if index else None

    @property
    def token(self) -> int:
        """The fencing token of a lock with one name."""
        if len(self.names) > 1:
            raise Invalid("a lock of several names has a token for each: see tokens")
        return self.tokens[self.names[0]]

    @property
    def tokens(self) -> dict:
        """The fencing tokens, by name."""
        if not self._owner.is_here():
            return dict(self._tokens)
        with self._mutex:
            return dict(self._tokens)

    @property
    def reason(self):
        """The exception that ended the lock, or None."""
        return self._reason if self._owner.is_here() else self._forked()

    def check(self):
        """Raises LockLost if the lock is not held now."""
        if not self.held:
            raise self._why()

    # -- calls --

    def extend(self, ttl=None):
        """Extends all names to @ttl seconds from now (None: the lease). The call takes at most the
        call timeout, and ends at the deadline. Only the resolver of the system may take longer.

        If @ttl is below the notice of renew(), the client sets `must_stop` at once. Raises LockLost
        if the lock is lost, or if its deadline passes without an answer. Raises NewGrant if the
        lock was acquired again. With take_new_grant, the lock has the new tokens instead. After
        Unavailable, Exhausted, Refused and ProtocolError, the deadline still applies."""
        with self._alone():
            self._extend(ttl, now() + self._client._call_timeout)

    def release(self, keep=None) -> bool:
        """Releases all names. The lock is no longer held from the start of this call.

        keep: seconds for which the names stay closed to other callers, at most the rest of the
        lease. So a short job keeps its time slot.

        Returns True if the lock was held until now. Raises Unavailable if the result is unknown. It
        is safe to repeat the call, and the lease ends by itself. The call takes at most the call
        timeout, or half a second after the end of the validity. If a signal handler raises an
        exception during this call, the client first sends the release once more, for at most the
        call timeout again."""
        self._check_owner()
        keep = 0.0 if keep is None else _pause("keep", keep)
        until = now() + self._client._call_timeout
        with self._mutex:
            if not self._released:  # there is nothing to wait for once the lease is over
                until = min(until, max(self.deadline, now()) + _LATE)
            self._released = True
            self._changed.notify_all()
        try:
            return self._send_release(keep, until)
        except Error:
            raise
        except BaseException:  # of a signal handler: the lock would stay until its lease ends
            with contextlib.suppress(Error):
                self._send_release(keep, now() + self._client._call_timeout)
            raise

    def renew(self, notice=None, on_stop=None):
        """Starts to extend the lock, whenever a third of the lease has passed. Ends with release(),
        or when `must_stop` is set. Arguments: see Client.lock()."""
        self._renew(notice, on_stop)

    # -- for this file --

    def _renew(self, notice, on_stop, is_abandoned=None):
        self._check_owner()
        most = self.ttl / 2
        notice = _seconds("notice", self.ttl / 6 if notice is None else notice,
                          lambda notice: 0 <= notice <= most,
                          f"0 to {most:g} seconds here, half of the lease")
        _check_call("on_stop", on_stop)
        with self._mutex:
            if self._renewer is not None:
                raise Invalid("the lock is already being extended")
            renewer = _Renewer(self, notice, on_stop, is_abandoned)
            renewer.start()
            self._renewer = renewer

    def _send_release(self, keep: float, until: float) -> bool:
        with self._alone(until):  # a release beside an extension may leave the lock
            return _release(self._client, self.names, self.lock_id, until, self._kind, keep)

    def _forked(self) -> Forked:
        return self._owner.error(f"the lock {', '.join(self.names)}")

    def _check_owner(self):
        if not self._owner.is_here():
            raise self._forked()

    @contextlib.contextmanager
    def _alone(self, until=_FOREVER):
        """One call at a time. A child of a fork waits for no thread of the parent."""
        self._check_owner()
        if not self._calls.acquire(blocking=False):
            _leave_turn()
            while not self._calls.acquire(timeout=min(max(until - now(), 0.0), _FORK_STEP)):
                self._check_owner()
                if now() >= until:
                    raise _about(Unavailable("an extension is still under way"), "release",
                                 self.names)
        try:
            yield
        finally:
            self._calls.release()

    def _why(self) -> LockLost:
        reason = self.reason
        if isinstance(reason, LockLost):
            return reason
        name = ", ".join(self.names)
        if self._released:
            return LockLost(f"the lock {name} was released", name=self.names[0])
        return LockLost(f"the validity of the lock {name} has ended"
                        + (f": {reason}" if reason is not None else ""), name=self.names[0])

    def _lose(self, error: LockLost):
        with self._mutex:
            self._lost = True
            if self._reason is None:
                self._reason = error
            self._changed.notify_all()

    def _extend(self, ttl, until: float):
        ttl = self.ttl if ttl is None else _ttl(ttl)
        self.check()
        body = {"resources": list(self.names), "tokens": [self._tokens[name] for name in self.names],
                "ttl_ms": int(ttl * 1000)}
        answers = _ask_at_once(self._client, "PATCH", self.lock_id, body, min(until, self.deadline))
        for name in self.names:
            self.check()
            try:
                self._extend_name(name, ttl, min(until, self.deadline), answers.get(name))
            except Forked:
                raise
            except LockLost as error:
                self._lose(error)
                raise
            except Unavailable as error:
                self.check()
                raise _about(error, "extend", [name])
            except Error as error:
                raise _about(error, "extend", [name])

    def _extend_name(self, name: str, ttl: float, until: float, answer):
        headers = {"Lock-Id": self.lock_id, "Fencing-Token": self._tokens[name]}
        call = _Call("PATCH", _path(name, self._kind), {"ttl_ms": int(ttl * 1000)}, headers)
        answer = answer or self._client._ask_until(call, until)
        answer.check(self.lock_id, [name])
        deadline = answer.until(ttl)
        token = answer.integer("token", self._tokens[name], TOKEN_MAX) if answer.status == 201 else None
        with self._mutex:
            # An answer that comes too late mends nothing: the holder was told that it had ended.
            self.check()
            if token is not None and not self._take_new_grant:
                raise NewGrant(f"the lock {name} was acquired again, and another caller may have held "
                               "it in between", token, name)
            if token is not None:
                self._tokens[name] = token
            self._deadlines[name] = deadline
            self._changed.notify_all()

    def _end(self):
        """Releases at the end of a block, also a lock that is lost: a new grant may be there."""
        try:
            if not self._released:
                self.release()
        except Error:
            pass  # the lease ends by itself


class _Renewer:
    """Extends a lock until it is released, or `must_stop` is set. One thread makes the calls. The
    other one makes none, and watches the time."""

    def __init__(self, lock: Lock, notice: float, on_stop, is_abandoned=None):
        self.lock = lock
        self.notice = notice
        self.on_stop = on_stop
        self.is_abandoned = is_abandoned  # True: no task can release the lock; None: a thread can
        self.failure = None  # of the last extension
        self.threads = [threading.Thread(target=run, name=f"pawl-{what} {lock.names[0]}",
                                         daemon=True)
                        for what, run in (("watcher", self.watch), ("renewer", self.extend))]

    def start(self):
        for thread in self.threads:
            thread.start()

    def watch(self):
        if self.sleep_until_left(self.notice):
            self.tell(self.failure or Unavailable("it could not be extended in time"))

    def extend(self):
        lock = self.lock
        while self.sleep_until_left(max(lock.ttl * 2 / 3, self.notice)):
            try:
                with lock._calls:
                    if self.is_over():
                        return
                    if self.is_abandoned is not None and self.is_abandoned():
                        return self.tell(Unavailable("the event loop of the lock was closed"))
                    if lock.left() <= self.notice:
                        raise Unavailable("it could not be extended in time")
                    lock._extend(None, min(lock.deadline - self.notice,
                                           now() + lock._client._call_timeout))
                self.failure = None
            except Unavailable as error:
                self.failure = error
                time.sleep(_PAUSE_LEAST)
            except Exception as error:
                return self.tell(error)

    def is_over(self) -> bool:
        return self.lock._released or self.lock.must_stop.is_set()

    def sleep_until_left(self, seconds: float) -> bool:
        """Sleeps until @seconds are left, also where the deadline is moved or the lock is lost.
        False: it is over."""
        lock = self.lock
        with lock._mutex:
            while not self.is_over():
                time_left = lock.left() - seconds
                if time_left <= 0:
                    return True
                lock._changed.wait(min(time_left, _NAP_MOST))
        return False

    def tell(self, error: Exception):
        lock = self.lock
        with lock._mutex:
            if self.is_over():
                return
            if lock._reason is None:
                lock._reason = error
            lock.must_stop.set()
            lock._changed.notify_all()
        if self.on_stop is not None:
            self.on_stop(lock)


class _Block:
    """A lock in a `with` statement."""

    def __init__(self, client, request, options):
        self._client = client
        self._request = request
        self._take_new_grant = options.pop("take_new_grant")
        self._options = options
        self._lock = None

    def __enter__(self) -> Lock:
        if self._lock is not None:
            raise Invalid("this lock object cannot be reused: call lock() again")
        _check_own(self._client, self._request)
        self._lock = _acquire(self._client, self._request, self._take_new_grant, _Abort())
        try:
            _note_own(self._lock, is_block=True)
            self._lock.renew(**self._options)
        except BaseException:
            self._lock._end()
            raise
        return self._lock

    def __exit__(self, kind, error, trace):
        lock = self._lock
        was_held = lock.held or lock._released
        why = lock._why()
        lock._end()
        if kind is None and not was_held:
            raise why


# ---- asyncio ------------------------------------------------------------------------------------

_COUNTS_CANCELLATIONS = sys.version_info >= (3, 11)


def _start_in_thread(call, client=None) -> asyncio.Future:
    """A future of what @call returns or raises in a thread of its own. What is asked of @client goes
    together with other calls of this turn of the loop."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle(result, error):
        if not future.done():
            future.set_result((result, error))

    def run(seat):
        _of_thread.seat = seat
        try:
            outcome = (call(), None)
        except BaseException as error:
            outcome = (None, error)
        _leave_turn()
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    def start(seat=None):
        try:
            threading.Thread(target=run, args=(seat,), name="pawl-call", daemon=True).start()
        except RuntimeError as error:  # no more threads
            if seat is not None:
                seat.leave()
            settle(None, error)

    if client is None:
        start()
    else:
        _turn_of(client).add_start(start)
    return future


async def _outcome_of(future):
    """What the thread of @future returned, and what it raised. The loop looks again after each
    step: a child of a fork has no such thread. And a child that closes its loop takes the
    descriptors that wake this one out of the selector, which it shares."""
    owner = _Owner()
    while not future.done():
        owner.check("this call")
        await asyncio.wait([future], timeout=_FORK_STEP)
    return future.result()


async def _in_thread(client, call, abort=None, undo=None):
    """Awaits @call, of @client. Where the task is cancelled, @abort is called, and what @call returned all the
    same is given to @undo; then CancelledError goes on. A second cancellation does not wait."""
    owner = _Owner()
    future = _start_in_thread(call, client)
    try:
        result, error = await _outcome_of(future)
    except asyncio.CancelledError:
        if not owner.is_here():
            raise  # the thread is the parent's
        if abort is not None:
            abort()
        result, error = await _outcome_of(future)
        if error is None and undo is not None:
            await _outcome_of(_start_in_thread(lambda: undo(result)))
        raise
    if error is not None:
        raise error
    return result


async def _acquire_in_thread(client, request, take_new_grant) -> Lock:
    abort = _Abort()
    return await _in_thread(client, lambda: _acquire(client, request, take_new_grant, abort),
                            abort.set, Lock._end)


class AsyncLock:
    """A Lock for asyncio, with calls to await. Client.alock() and Client.aacquire() create an
    AsyncLock. `lock` is the Lock."""

    def __init__(self, lock: Lock):
        self.lock = lock
        self._stopped = asyncio.Event()  # must_stop is set
        self._on_stop = None

    def __repr__(self):
        return repr(self.lock).replace("pawl.Lock", "pawl.AsyncLock")

    def __getattr__(self, name):
        if name in ("names", "lock_id", "ttl", "held", "left", "deadline", "token", "tokens",
                    "check", "must_stop", "reason"):
            return getattr(self.lock, name)
        raise AttributeError(name)

    async def extend(self, ttl=None):
        """See Lock.extend()."""
        self.lock._check_owner()
        await _in_thread(self.lock._client, lambda: self.lock.extend(ttl))

    async def release(self, keep=None) -> bool:
        """See Lock.release(). The release completes even if the task is cancelled."""
        self.lock._check_owner()
        return await _in_thread(self.lock._client, lambda: self.lock.release(keep))

    def renew(self, notice=None, on_stop=None):
        """See Lock.renew(). The client calls @on_stop in the running loop, with this lock."""
        self.lock._check_owner()
        loop = asyncio.get_running_loop()

        def tell_loop(_lock):
            try:
                loop.call_soon_threadsafe(self._tell)
            except RuntimeError:
                pass  # the loop is closed

        self._on_stop = on_stop
        self.lock._renew(notice, tell_loop, loop.is_closed)
        self._watch(loop)

    async def wait_stop(self):
        """Waits until `must_stop` is set. The lock must be one that renew() extends."""
        await self._stopped.wait()

    def _watch(self, loop):
        """What tell_loop() does, also in a child of a fork, and where that does not wake the loop:
        see _outcome_of()."""
        if self.lock.must_stop.is_set():
            self._tell()
        elif not self.lock._released:
            loop.call_later(_FORK_STEP, self._watch, loop)

    def _tell(self):
        if self._stopped.is_set():
            return
        self._stopped.set()
        if self._on_stop is not None:
            self._on_stop(self)


class AsyncWatch:
    """A Watch for `async for`. Client.awatch() creates an AsyncWatch."""

    def __init__(self, watch: Watch):
        self._watch = watch

    def __aiter__(self):
        return self

    async def __anext__(self) -> State:
        abort = _Abort()
        state = await _in_thread(None, lambda: self._watch._look(abort), abort.set)
        if state is None:
            raise StopAsyncIteration
        self._watch._state = state  # not where the task was cancelled: nobody was told
        return state


class _AsyncBlock:
    """A lock in an `async with` statement."""

    def __init__(self, client, request, cancel, options):
        self._client = client
        self._request = request
        self._cancel = cancel
        self._take_new_grant = options["take_new_grant"]
        self._notice = options["notice"]
        self._lock = None
        self._task = None  # the block's; None: it has ended
        self._cancelled = False
        self._others = 0  # cancellations of the task from before the block

    async def __aenter__(self) -> AsyncLock:
        if self._lock is not None:
            raise Invalid("this lock object cannot be reused: call alock() again")
        self._client._owner.check()
        _check_own(self._client, self._request)
        lock = AsyncLock(await _acquire_in_thread(self._client, self._request,
                                                  self._take_new_grant))
        _note_own(lock.lock, is_block=True)
        self._lock = lock
        self._task = asyncio.current_task()
        if _COUNTS_CANCELLATIONS:
            self._others = self._task.cancelling()
        try:
            lock.renew(self._notice, self._stop if self._cancel else None)
        except BaseException:
            await _in_thread(self._client, lock.lock._end)
            raise
        return lock

    def _stop(self, _lock):
        if self._task is not None:
            self._cancelled = True
            self._task.cancel()

    async def __aexit__(self, kind, error, trace):
        task, self._task = self._task, None
        lock = self._lock.lock
        was_held = lock.held or lock._released
        why = lock._why()
        by_us = self._cancelled and kind is not None and issubclass(kind, asyncio.CancelledError)
        if self._cancelled and _COUNTS_CANCELLATIONS and task.uncancel() > self._others:
            by_us = False  # somebody else cancelled it, too
        if lock._owner.is_here():
            await _in_thread(self._client, lock._end)
        if by_us and isinstance(lock.reason, LockLost):
            raise lock.reason
        if by_us:
            name = ", ".join(lock.names)
            raise LockLost(f"the block was cancelled before the lock {name} ended: {lock.reason}",
                           name=lock.names[0]) from lock.reason
        if kind is None and not was_held:
            raise why
