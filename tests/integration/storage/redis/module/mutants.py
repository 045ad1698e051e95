"""Each thing that ends a verdict of the module, and each rule of its leases, left out, makes a case of a test fail.

usage: mutants.py

Compiles one file of the module without a line, links it with the others as they were built, and runs the test with that
module. Exit status: 0 each was found; 1 one was not."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[5]
BUILD = pathlib.Path(os.environ.get("PAWL_BUILD", ROOT / "build"))
SOURCES = ROOT / "storage/redis/module"
TEST = "integration.storage.redis.module."
TIMEOUT_S = 60

# What is left out, of which file, and a case that has to fail then: "<test>.<case>". A pair: what comes in the place of it.
MUTANTS = [
    ("events.c", "    REDIS_EVENT_ROLE_CHANGED,\n", "lineage_cache.role_that_changed_and_back_is_noticed"),
    ("events.c", "    REDIS_EVENT_FORK_CHILD,\n", "lineage_cache.rewrite_after_a_setting_is_noticed"),
    ("events.c", "    REDIS_EVENT_CONFIG,\n", "lineage_cache.setting_of_persistence_that_changed_is_noticed"),
    ("events.c", "    storage_module_lineage_cache_evicted();\n", "lineage_cache.eviction_is_noticed"),
    ("lineage_cache.c", "    evictions++;\n", "lineage_cache.eviction_that_a_reset_of_the_statistics_hides_is_noticed"),
    ("lineage_cache.c", "           now_ms - kept.read_ms < STORAGE_MODULE_LINEAGE_CACHE_MS &&",
     "lineage_cache.reset_of_the_statistics_is_noticed_after_a_moment"),
    ("lineage_cache.c", "    if (still_stands(noted, now_ms))\n        return false;\n", "lineage_cache.many_calls_ask_once"),
    ("lineage.c", '                       has_setting(settings, "appendfsync", "always") &&\n',
     "lineage_cache.setting_of_persistence_that_changed_is_noticed"),
    ("lineage.c", "same_from_colon(noted->lineage, now) && ", "lineage_cache.eviction_before_a_first_replica_is_noticed"),
    ("lineage.c", 'strstr(info, "\\nsecond_repl_offset:-1") &&', "lineage_cache.promotion_that_is_not_counted_is_noticed"),
    ("lineage.c", "counts_all(info, noted) && ", "lineage_cache.replica_before_the_answers_are_noted_is_noticed"),
    ("lineage.c", "is_run_of_marker(ctx, info.text) && ", "lineage_cache.replica_of_another_process_is_noticed"),
    ("lineage.c", " && same_from_colon(noted->sets, calls)", "lineage_cache.promotion_before_a_first_replica_is_noticed"),
    ("lineage.c", " && !has_only_another_id(ctx, info.text, now, noted)", "lineage_cache.first_replica_is_no_reason_to_refuse"),
    ("leases.c", ("redis.now_us() / US_IN_MS", "(uint64_t)redis.wall_ms()"), "leases.lock_outlives_a_leap"),
    ("leases.c", ("return now_ms + lease_ms;", "return now_ms;"), "leases.lease_begins_anew_after_a_restart"),
    ("module.c", "    if (storage_module_leases_take_emptied() || !leases_told)\n        tell_leases();\n", "leases.lock_that_a_script_takes_outlives_a_leap"),
    ("events.c", "        storage_module_lease_forget(name, len);\n", "leases.lease_of_another_value_begins_anew"),
    ("events.c", "    storage_module_remove_ended(ctx, ENDED_AT_A_TIME);\n",
     "leases.locks_that_ended_are_removed_with_nobody_asking"),
    ("expire_leases.c", "        redis.key_set_expiry(key, PAST_MS);\n",
     "leases.locks_that_ended_are_removed_with_nobody_asking"),
]


def objects():
    """What the module is linked of."""
    told = subprocess.run(["ninja", "-C", BUILD, "-t", "query", "storage/pawl-master.so"], capture_output=True, text=True,
                          check=True).stdout
    return [BUILD / path for path in re.findall(r"^ +(\S+\.o)$", told, re.M)]


def mutated(folder, name, left_out):
    """The module without these words of the file, or with others."""
    left_out, other = left_out if isinstance(left_out, tuple) else (left_out, "")
    source = (SOURCES / name).read_text()
    assert source.count(left_out) == 1, f"{name}: {left_out!r} is not there once"
    changed = pathlib.Path(folder) / name
    changed.write_text(source.replace(left_out, other))
    module = pathlib.Path(folder) / "pawl-master.so"
    others = [path for path in objects() if path.parent.name != "module" or path.name != name + ".o"]
    subprocess.run(["cc", "-std=gnu11", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}",
                    f"-Wl,--version-script={SOURCES / 'pawl-master.map'}", "-o", module, changed, *others], check=True)
    return module


def is_found(module, case):
    test, case = case.split(".")
    done = subprocess.run([BUILD / "tests" / (TEST + test), case], capture_output=True, check=False, timeout=TIMEOUT_S,
                          env={**os.environ, "PAWL_TEST_MODULE_FILE": str(module)})
    return b"[  FAILED  ] " + case.encode() in done.stdout + done.stderr


def main():
    missed = 0
    for name, left_out, case in MUTANTS:
        with tempfile.TemporaryDirectory() as folder:
            if is_found(mutated(folder, name, left_out), case):
                continue
        print(f"{name} without {left_out!r}: {case} does not fail")
        missed += 1
    return 1 if missed else 0


sys.exit(main())
