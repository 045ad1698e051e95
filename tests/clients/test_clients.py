"""One client against the table: each row is played with its driver. README.md has the commands of a driver.
usage: test_clients.py NAME COMMAND... [-- WORD...]    words choose the rows whose names have one of them"""

import sys
import time

from hostile import CASES, MUTATED, HostileRow, HostileServer
from suite import Missing, Step, play_all
from table import ROWS, WRONG_SERVERS

sys.path.insert(0, __file__.rpartition("/")[0])
REFERENCE = [sys.executable, "-B", __file__.rpartition("/")[0] + "/drivers/driver.py"]


class WrongServer:
    """A client of @servers is refused with a sentence that has @said, and no password."""

    def __init__(self, name, servers, said):
        self.name = f"servers_{name}"
        self._step = Step("client", 500, servers, kind="invalid", said=said)

    def play(self, driver):
        self._step.play(driver, ())


def mutated_rows(server):
    return [HostileRow(case, server) for case in MUTATED]


def compare_mutated(command, server):
    """What the client and the reference make of mutated answers, where that differs."""
    came, reference = mutated_rows(server), mutated_rows(server)
    wrong = play_all(command, came)
    play_all(REFERENCE, reference)
    for row, other in zip(came, reference):
        if row.kind != other.kind:
            wrong[row.name] = f"{row.kind}, and {other.kind} of the reference"
    return wrong


def main():
    words = sys.argv[1:]
    name, command, chosen = words[0], words[1:], []
    if "--" in words:
        command, chosen = words[1:words.index("--")], words[words.index("--") + 1:]
    began = time.monotonic()
    server = HostileServer()
    rows = [*ROWS, *[WrongServer(*row) for row in WRONG_SERVERS], *[HostileRow(case, server) for case in CASES]]
    rows = [row for row in rows if not chosen or any(word in row.name for word in chosen)]
    came = play_all(command, rows)
    if not chosen:
        came.update(compare_mutated(command, server))
    missing = {row: result for row, result in came.items() if isinstance(result, Missing)}
    wrong = {row: result for row, result in came.items() if isinstance(result, str)}
    for row, reason in missing.items():
        print(f"{name}: left out: {row}: {reason}")
    for row, result in wrong.items():
        print(f"{name}: {row}: {result}")
    print(f"{name}: {len(came) - len(wrong) - len(missing)} rows hold, {len(wrong)} do not, "
          f"{len(missing)} are left out; {time.monotonic() - began:.1f} s")
    return 1 if wrong or not came else 0


sys.exit(main())
