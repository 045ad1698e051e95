"""A client whose resolver does not answer ends its call in time, through its driver. In a network of its own, whose
only name server reads nothing. usage: test_names.py COMMAND..."""

import os
import pathlib
import socket
import sys
import tempfile

from suite import Driver, Step, Wrong

CALL_MS = 1000
WITHIN = 4.0  # the resolver of glibc asks for 10 seconds


def enter_namespaces():
    """Begins again in a network, and with files, of its own. Skips the test where that is not allowed."""
    if os.environ.get("PAWL_NAMES_INSIDE"):
        return
    os.environ["PAWL_NAMES_INSIDE"] = "1"
    again = [sys.executable, "-B", *sys.argv]
    for options in ([], ["--map-root-user"]):
        unshare = ["unshare", *options, "--net", "--mount"]
        if os.spawnvp(os.P_WAIT, "unshare", [*unshare, "true"]) == 0:
            os.execvp("unshare", [*unshare, *again])
    print("skipped: this machine allows no network namespace")
    sys.exit(77)


def main():
    enter_namespaces()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        conf = pathlib.Path(folder, "resolv.conf")
        conf.write_text("nameserver 127.0.0.1\n")
        if os.system("ip link set lo up") != 0 or os.system(f"mount --bind {conf} /etc/resolv.conf") != 0:
            sys.exit("cannot set the name server")
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
