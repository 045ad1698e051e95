# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench and candidates.sh
# What watches of one name cost pawld and the masters, and how soon after a grant they are told.
# Sourced after candidates.sh.

# watches: none and many at the pawld that grants, and one at another pawld of the fleet.
watches() {
    local second
    ulimit -S -n "$(ulimit -H -n)" # a connection each
    fleet_free_port
    second=$fleet_port
    fleet_start_pawld "$second"
    measure_watches 0 "$pawld_pid" --port "$pawld_port" --changes "$changes" --rate 10
    measure_watches "$watched" "$pawld_pid" --port "$pawld_port" --changes "$changes" --rate 10
    # Its pawld looks twice a second.
    measure_watches 1 "$fleet_pid" --port "$second" --granter "$pawld_port" \
        --changes "$((changes / 2))" --rate 1
    fleet_stop "$fleet_pid"
}

# measure_watches COUNT PID OPTION...: the CPU time of that pawld comes first.
measure_watches() {
    local count=$1 options=(--pid "$2") pid line
    for pid in "${fleet_master_pids[@]}"; do
        options+=(--pid "$pid")
    done
    say "$persistence: $count watching"
    line=$(chrt --batch 0 "$bench_out/pawl-bench-watches" "${options[@]}" --watches "$count" "${@:3}") ||
        die "pawl-bench-watches failed with $count watching: $line"
    record watches '{}' <<<"$line"
}
