"""Who finds each mutant: the checker of the proof, the simulator, the contract of a master, the model, a test.

usage: finders.py            fails where FINDERS.md says something else, or a mutant has no finder
       finders.py --write    writes FINDERS.md

What the checker and the simulator find is read from REFUSED.md and FOUND.md, which their commands write. The rows of the
contract are looked for now. What else finds a mutant stands below; each case and each name has to be in the sources.

Build first: scripts/build --tests."""

import collections
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "tests/proof/FINDERS.md"

# Mutants that the simulator found once, in how many seeds; and by what else the others are found. tests/sim/README.md tells why.
SEEDS_BY_NAME = {
    "progress-unchecked": 233139, "merge-keeps-attempt": 61193, "listing-any-process": 562992, "read-on-elsewhere": 63142,
    "memory-unnamed": 646791, "named-below-floor": 331125, "extends-any-imported": 237982, "telling-not-awaited": 22564,
}
MODEL = {
    "lost-without-past": "ABSENT_IS_LOST", "join-past": "JOIN_PAST_TOKEN", "late-answer-counts": "ANSWER_READ_LATE",
    "restamp-uncounted": "BELIEF_UNCOUNTED", "confirm-by-id": "ID_ALONE", "late-number-exactly": "LATE_ANSWER",
    "majority-of-asked": "MAJORITY_OF_ANSWERS", "no-view": "NO_VIEW_CHECK", "one-read-fewer": "ONE_READ_FEWER",
    "lineage-not-in-take": "LINEAGE_UNCHECKED_IN_TAKE", "disk-trusted-blindly": "DISK_TRUSTED_BLINDLY",
    "read-before-record": "READ_BEFORE_RECORD", "incarnation-reused": "INCARNATION_REUSED", "no-nonce": "INSTALL_WITHOUT_NONCE",
    "stored-number-kept": "STORED_NUMBER_ANSWERED", "count-highest-wins": "HIGHEST_WINS",
}
CASES = {
    "pages-unchecked": "read_is_refused_where_its_own_incarnation_is_another",
    "extended-unmarked": "what_was_extended_is_not_taken_back_by_a_late_clean_up",
    "extends-any-imported": "imported_lock_is_extended_where_a_majority_had_it",
    "lineage-not-in-mark": "mark_is_not_intact_under_another_lineage_than_judged",
    "late-answer-counts": "answer_that_is_read_late_counts_for_nothing",
    "restamp-uncounted": "restamp_leaves_every_copy_of_the_disk_behind",
    "telling-not-awaited": "master_is_waited_with_until_every_server_could_tell",
    "break-by-number": "another_lock_id_with_such_a_number_stays_and_is_named",
    "break-in-any-view": "break_under_a_stale_view_breaks_nothing",
    "reacquired-by-few": "lock_stands_only_where_a_majority_answered",
}

HEAD = """# Who finds each mutant

`python3 tests/proof/finders.py --write` writes this file. A mutant is the code with one rule switched off
([mutants.c](../sim/mutants.c)). The columns have these meanings:

- *Checker* and *simulator*: the number of histories until the checker or the simulator found the mutant ([REFUSED.md](REFUSED.md),
  [FOUND.md](../sim/FOUND.md)). A number in brackets is from an earlier search that is not repeated.
- *Contract*: a row of the [contract](../contract/README.md) that fails. Real masters pass this row.
- *Model*: the mutant of the [model](../model/README.md) for the same rule.
- *Test*: a test that fails without the rule. Most of these tests run on a real Redis.

{counts}

| mutant | the rule that is off | checker | simulator | contract | model | test |
|---|---|--:|--:|---|---|---|
"""


def rows_of(path, columns):
    """The rows of a table: the first column, and another one."""
    text = (ROOT / path).read_text()
    return {row[0]: row for row in (line.strip("| ").split(" | ") for line in text.splitlines())
            if len(row) >= columns and re.fullmatch(r"[a-z][a-z-]+", row[0])}


def mutants():
    """The name, the rule and the switches of each."""
    text = (ROOT / "tests/sim/mutants.c").read_text()
    table = text[text.index("} mutants[] = {"):]
    found = re.findall(r'\{"([a-z-]+)",\s*((?:"[^"]*"\s*)+),\s*\w+,\s*ON\(([^)]*)\)\}', table)
    return [(name, " ".join(re.findall(r'"([^"]*)"', rule)), re.findall(r"MUTANT_(\w+)", on)) for name, rule, on in found]


def contract():
    """A function that names a row of the contract that fails with a switch on; or nothing."""
    spec = importlib.util.spec_from_file_location("contract_mutants", ROOT / "tests/contract/mutants.py")
    source = pathlib.Path(spec.origin).read_text().replace("\nsys.exit(main(sys.argv[1:]))", "")
    module = {"__file__": spec.origin, "__name__": "contract_mutants"}
    exec(compile(source, spec.origin, "exec"), module)  # pylint: disable=exec-used
    listed = set(re.findall(r"^mutant (\w+):", (ROOT / "tests/sim/mutants/master.txt").read_text(), re.M))
    numbers = module["switches"]()

    def row(switches):
        for switch in switches:
            if switch in listed:
                failed = module["failed_rows"](numbers[switch])
                if failed:
                    return failed[0]
        return ""
    return row


def table():
    refused, seen = rows_of("tests/proof/REFUSED.md", 2), rows_of("tests/sim/FOUND.md", 4)
    row_of, rows, counts = contract(), [], collections.Counter()
    for name, rule, switches in sorted(mutants()):
        checker = refused[name][1] if name in refused and refused[name][1].isdigit() else ""
        found = seen.get(name, ["", "", ""])[2]
        seeds = found if found.isdigit() else ""
        if not seeds and name in SEEDS_BY_NAME:
            seeds = f"({SEEDS_BY_NAME[name]})"
        cells = [checker, seeds, row_of(switches), MODEL.get(name, ""), CASES.get(name, "")]
        for kind, cell in zip(("the checker", "the simulator", "the contract", "the model", "a test by name"), cells):
            counts[kind] += bool(cell)
        counts["nobody"] += not any(cells)
        rows.append("| " + " | ".join([name, rule, *(f"`{c}`" if c and k > 1 else c for k, c in enumerate(cells))]) + " |")
    said = f"There are {len(rows)} mutants. Numbers of found mutants: " + ", ".join(
        f"{kind} {count}" for kind, count in counts.items() if kind != "nobody") + f". Mutants without a finder: {counts['nobody']}."
    return HEAD.format(counts=said) + "\n".join(rows) + "\n", counts["nobody"]


def absent():
    """Names above that are in no source."""
    cases = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.c"))
    model = (ROOT / "tests/model/README.md").read_text()
    return [case for case in CASES.values() if case not in cases] + [name for name in MODEL.values() if name not in model]


def main():
    missing = absent()
    text, unfound = table()
    if missing or unfound:
        sys.exit(f"finders: in no source: {missing}; mutants without a finder: {unfound}")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit("finders: tests/proof/FINDERS.md says something else; finders.py --write writes it")


if __name__ == "__main__":
    main()
