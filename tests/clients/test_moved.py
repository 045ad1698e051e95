"""A client whose server moves to another address finds it there, through its driver. In a network of its own, with a
name server of its own. usage: test_moved.py COMMAND..."""

import os
import socket
import struct
import sys
import tempfile
import threading
import time

from server import Server
from suite import Driver, Step, Wrong
from table import acquire, extend, release

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import namespaces  # noqa: E402

CALL_MS = 10000
TTL_MS = 20000  # of the lock: shorter than a cache of names may be
FAMILIES = {1: socket.AF_INET, 28: socket.AF_INET6}  # of the types A and AAAA


class Resolver:
    """A name server: all names have these addresses."""

    def __init__(self):
        self.addresses = ()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            query, peer = self._socket.recvfrom(512)
            end = query.index(b"\0", 12) + 5  # of the question
            kind = struct.unpack(">H", query[end - 4:end - 2])[0]
            found = [address for address in self.addresses if kind == (28 if ":" in address else 1)]
            records = b"".join(struct.pack(">HHHIH", 0xc00c, kind, 1, 0, len(data)) + data
                               for data in (socket.inet_pton(FAMILIES[kind], address) for address in found))
            head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, len(found), 0, 0)
            self._socket.sendto(head + query[12:end] + records, peer)


def play(driver, port, *steps):
    for step in (Step("client", CALL_MS, f"http://pawld.test:{port}"), *steps):
        step.play(driver, ())


def check_one_of_several(driver, resolver):
    """A name has addresses where no server listens, and one where a server does."""
    resolver.addresses = ("127.0.0.5", "127.0.0.2", "::1")
    for at in ("127.0.0.2", "::1"):
        server = Server({"at": at})
        play(driver, server.port, acquire(within=3), extend(within=3), release(within=3))
        server.stop()


def check_silent_address(driver, resolver):
    """The first address of a name swallows connections: another one is asked in time."""
    server = Server({"at": "127.0.0.2"})
    silent = socket.create_server(("127.0.0.6", server.port), backlog=0)
    full = [socket.socket() for _ in range(3)]  # more than the backlog
    for one in full:
        one.setblocking(False)
        one.connect_ex(("127.0.0.6", server.port))
    resolver.addresses = ("127.0.0.6", "127.0.0.2")
    began = time.monotonic()
    play(driver, server.port, acquire(within=4), release(within=4))
    print(f"another address was asked in place of a silent one after {time.monotonic() - began:.1f} s")
    server.stop()
    silent.close()


def check_move(driver, resolver):
    """The name moves while the lock is held."""
    resolver.addresses = ("127.0.0.3",)
    old = Server({"at": "127.0.0.3"})
    play(driver, old.port, acquire(ttl=TTL_MS))
    old.stop()
    new = Server({"at": "127.0.0.4", "port": old.port})
    resolver.addresses = ("127.0.0.4",)
    began = time.monotonic()
    for step in (extend(), release()):
        step.play(driver, ())
    assert [request.method for request in new.requests] == ["PATCH", "DELETE"], new.requests
    print(f"the server was found at its new address after {time.monotonic() - began:.1f} s")


def main():
    namespaces.enter()
    driver = Driver(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        namespaces.replace_file("/etc/resolv.conf", "nameserver 127.0.0.1\n", folder)
        resolver = Resolver()
        try:
            check_one_of_several(driver, resolver)
            check_silent_address(driver, resolver)
            check_move(driver, resolver)
        except Wrong as wrong:
            sys.exit(str(wrong))
        finally:
            driver.end()


main()
