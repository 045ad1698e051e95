"""Players at several pawlds, each in a thread, and what happens to the masters meanwhile."""

import http.client
import json
import random
import socket
import threading
import time

from python_service import PATIENCE


class Player:
    """One client with a connection to each of @services. turn() is its own."""

    def __init__(self, services, number):
        self.random = random.Random(number)
        self.connections = [http.client.HTTPConnection("127.0.0.1", each.port, timeout=PATIENCE)
                            for each in services]
        self.home = number % len(services)

    def call(self, server, method, path, body=None, **fields):
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        connection = self.connections[server]
        connection.request(method, path, json.dumps(body) if body else None, fields)
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    def run(self, end):
        while time.monotonic() < end:
            self.turn()
        for connection in self.connections:
            connection.close()


def play(players, seconds, acts=()):
    """Runs the players, and each of @acts once in between."""
    end = time.monotonic() + seconds
    failures = []

    def run(player):
        try:
            player.run(end)
        except Exception as failure:  # a thread has nobody to raise it to
            failures.append(repr(failure))

    threads = [threading.Thread(target=run, args=(each,)) for each in players]
    for thread in threads:
        thread.start()
    for act in acts:
        time.sleep(seconds / (len(acts) + 1))
        act()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def wipe(port):
    """The master there loses all that it knows."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(b"FLUSHALL\r\n")
        assert connection.recv(100).startswith(b"+OK")
