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
        measure_waiters "$count" "$pawld_port:$pawld_pid"
        measure_waiters "$count" "$pawld_port:$pawld_pid" "$second:$second_pid"
    done
    fleet_stop "$second_pid"
}

# measure_waiters COUNT PORT:PID...
measure_waiters() {
    local count=$1 options=() server url line
    shift
    for server in "$@"; do
        options+=(--port "${server%:*}" --pid "${server#*:}")
    done
    # Where waiters come back to the end of the line, theirs are not the calls of a hand-over.
    if ((count >= handovers)); then
        for url in "${fleet_master_urls[@]}"; do
            options+=(--redis "${url##*:}")
        done
    fi
    line=$(chrt --batch 0 "$bench_out/pawl-bench-waiters" "${options[@]}" --waiters "$count" \
        --handovers "$handovers") || die "pawl-bench-waiters failed with $count waiting"
    record waiters "{\"servers\": $#}" <<<"$line"
}
