# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench
# Whether the time of a refusal tells which keys there are. Sourced after counters.sh.

# keys: each round is a run of its own, of many rounds with other keys each. A difference beyond the
# bound ends the benchmark.
keys() {
    local round line
    for ((round = 1; round <= rounds; round++)); do
        line=$("$bench_out/pawl-bench-keys") ||
            die "the time of a refusal tells which keys there are: $line"
        record keys "{\"round\": $round}" <<<"$line"
        say "keys, round $round: $(jq -c '{known_ns, unknown_ns, difference_ns, interval_ns}' <<<"$line")"
    done
}
