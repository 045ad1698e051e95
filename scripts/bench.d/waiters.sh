# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench and candidates.sh
# How long a lock takes from one holder to the next while many wait for it. Sourced after
# candidates.sh.

# waiters: each number of them, through one pawld and through two on the same masters.
waiters() {
    local count second second_pid
    ulimit -S -n "$(ulimit -H -n)" # a connection each
    fleet_free_port
    second=$fleet_port
    fleet_start_pawld "$second"
    second_pid=$fleet_pid
    for count in "${waiters[@]}"; do
        say "$persistence: $count waiting"
        measure_waiters "$count" "$pawld_port"
        measure_waiters "$count" "$pawld_port" "$second"
    done
    fleet_stop "$second_pid"
}

# measure_waiters COUNT PORT...
measure_waiters() {
    local count=$1 ports=() port line
    shift
    for port in "$@"; do
        ports+=(--port "$port")
    done
    line=$(chrt --batch 0 "$bench_out/pawl-bench-waiters" "${ports[@]}" --waiters "$count" \
        --handovers "$handovers") || die "pawl-bench-waiters failed with $count waiting"
    record waiters "{\"servers\": $#}" <<<"$line"
}
