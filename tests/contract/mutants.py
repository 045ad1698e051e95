"""Each rule of a master that is switched off (tests/sim/mutants/master.txt) makes a row of the table fail.

usage: mutants.py [MUTANT...]     (with names: says which rows fail)

Exit status: 0 each made a row fail; 1 one did not."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PAWL_BUILD", ROOT / "build"))
TIMEOUT_S = 20

def switches():
    """The number of each switch, by its name."""
    header = (BUILD / "generated/tests/sim/mutants/switches.h").read_text()
    names = re.findall(r"^    MUTANT_(\w+),", header, re.M)
    return {name: number for number, name in enumerate(names)}


def failed_rows(number):
    """The rows that fail with this switch on; None where the program ended otherwise."""
    done = subprocess.run([BUILD / "tests/contract_mutated"], capture_output=True, text=True, check=False,
                          timeout=TIMEOUT_S, env={**os.environ, "PAWL_MUTANT": str(number)})
    if done.returncode not in (0, 1):
        return None
    return sorted(set(re.findall(r"^\[  FAILED  \] (?:contract: )?(\w+)$", done.stdout + done.stderr, re.M)))


def main(wanted):
    listed = re.findall(r"^mutant (\w+):", (ROOT / "tests/sim/mutants/master.txt").read_text(), re.M)
    numbers = switches()
    missed = []
    for name in wanted or listed:
        rows = failed_rows(numbers[name])
        if wanted:
            print(name, "the program ended" if rows is None else ", ".join(rows) or "no row fails")
        if rows == []:
            missed.append(name)
    for name in missed:
        print(f"mutant {name}: no row fails. Add a row that tells it from the product.")
    return 1 if missed else 0


sys.exit(main(sys.argv[1:]))
