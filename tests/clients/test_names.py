"""A client whose resolver does not answer ends its call in time, through its driver. In a network of its own, whose
only name server reads nothing. usage: test_names.py COMMAND..."""

import os
import socket
import sys
import tempfile

from suite import Driver, Step, Wrong

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import namespaces  # noqa: E402

CALL_MS = 1000
WITHIN = 4.0  # the resolver of glibc asks for 10 seconds


def main():
    namespaces.enter()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        namespaces.replace_file("/etc/resolv.conf", "nameserver 127.0.0.1\n", folder)
        silent.bind(("127.0.0.1", 53))
        driver = Driver(sys.argv[1:])
        try:
            Step("client", CALL_MS, "http://pawld.invalid:7380").play(driver, ())
            Step("acquire", 0, 5000, "-", "orders/42", kind="unavailable", within=WITHIN).play(driver, ())
        except Wrong as wrong:
            sys.exit(str(wrong))
        finally:
            driver.end()
        silent.setblocking(False)
        silent.recv(512)  # the client did ask for the name


main()
