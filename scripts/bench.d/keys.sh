# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # of scripts/bench, fleet.sh and candidates.sh, or read there
# What keys cost, and whether the time of a refusal tells which keys there are. Sourced after counters.sh.

readonly keys_clients=64

# keys: pairs through two pawlds on the same masters, by turns: one with a key file, one without.
keys() {
    local round i order
    candidates_stop
    fleet_start_masters "$masters" "$persistence"
    fleet_init
    "$pawl_build/bin/pawl" key new --role lock --prefix bench/ --file "$fleet_dir/keys" >"$fleet_dir/bench.key"
    fleet_free_port
    keys_port=$fleet_port
    fleet_start_pawld "$keys_port"
    local pids=("$fleet_pid")
    fleet_free_port
    keyed_port=$fleet_port
    fleet_start_pawld "$keyed_port" --keys "$fleet_dir/keys"
    pids+=("$fleet_pid")
    for ((round = 1; round <= rounds; round++)); do
        order=(open keyed)
        ((round % 2)) || order=(keyed open)
        for i in "${order[@]}"; do
            keys_pairs "$i" "$round"
        done
    done
    for i in "${pids[@]}"; do
        fleet_stop "$i"
    done
    fleet_stop_masters
    fleet_master_pids=()
    [ "$persistence" != always ] || keys_times
}

# keys_pairs open|keyed ROUND
keys_pairs() {
    local port=$keys_port line key=''
    if [ "$1" = keyed ]; then
        port=$keyed_port
        key=$(<"$fleet_dir/bench.key")
    fi
    line=$(PAWL_KEY=$key chrt --batch 0 "$bench_out/pawl-bench-load" --port "$port" --names 1000000 \
        --connections "$keys_clients" --seconds "$seconds" --warmup "$warmup")
    say "$persistence: $1, round $2: $(jq -c '{pairs_per_s, acquire_us, errors}' <<<"$line")"
    record keyed "{\"what\": \"$1\", \"round\": $2}" <<<"$line"
}

# keys_times: each round is a run of its own, of many rounds with other keys each. A difference beyond
# the bound ends the benchmark.
keys_times() {
    local round line
    for ((round = 1; round <= rounds; round++)); do
        line=$("$bench_out/pawl-bench-keys") ||
            die "the time of a refusal tells which keys there are: $line"
        record keys "{\"round\": $round}" <<<"$line"
        say "keys, round $round: $(jq -c '{known_ns, unknown_ns, difference_ns, interval_ns}' <<<"$line")"
    done
}
