"""Each condition under which a script acts on with another replication id, left out, makes a case of first_replica fail.

usage: mutants.py

The test has the scripts as text. So a mutant is a copy of the test with spaces in the place of a condition. Exit status: 0 each
was found; 1 one was not."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[5]
BUILD = pathlib.Path(os.environ.get("PAWL_BUILD", ROOT / "build"))
TEST = BUILD / "tests/integration.storage.redis.lua.first_replica"
TIMEOUT_S = 60

# What is left out of a script, what stands there instead, and a case that has to fail then.
MUTANTS = [
    ("string.match(now, ':.*$') == string.match(lineage, ':.*$') and", "",
     "nothing_acts_once_a_key_was_evicted_before_a_replica_came"),
    (r"string.find(info, '\nsecond_repl_offset:-1', 1, true) and", "",
     "nothing_acts_once_it_was_promoted_by_calls_that_are_not_counted"),
    ("counted and counted .. '@' .. lineage == answers and", "",
     "nothing_acts_with_another_id_before_the_answers_are_noted"),
    (r"field_in(redis.call('INFO', 'server'), '\nrun_id:') == redis.call('HGET', fleet, 'run') and", "",
     "nothing_acts_in_another_process_with_the_same_counts"),
    ("string.match(config_calls(), ':.*$') == string.match(sets or '', ':.*$')", "true",
     "nothing_acts_once_it_was_promoted_and_a_replica_came"),
    (" and not has_only_another_id(info, now, lineage, sets, answers)", "", "all_act_once_a_first_replica_came"),
    ("'lineage', lineage, 'bytes'", "'bytes'", "all_act_once_a_first_replica_came"),
]


def is_found(left_out, instead, case):
    program, text = TEST.read_bytes(), left_out.encode()
    assert text in program, f"{left_out!r} is in no script"
    with tempfile.TemporaryDirectory() as folder:
        mutant = pathlib.Path(folder) / "mutant"
        mutant.write_bytes(program.replace(text, instead.encode().ljust(len(text))))
        mutant.chmod(0o700)
        done = subprocess.run([mutant, case], capture_output=True, check=False, timeout=TIMEOUT_S)
    return b"[  FAILED  ] " + case.encode() in done.stdout + done.stderr


def main():
    missed = [mutant for mutant in MUTANTS if not is_found(*mutant)]
    for left_out, _, case in missed:
        print(f"without {left_out.strip()!r}: {case} does not fail")
    return 1 if missed else 0


sys.exit(main())
