# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench and candidates.sh
# How often a waiter is overtaken by others that came after it to another pawld. Sourced after candidates.sh.

readonly overtaking_servers=8

# overtaking: waiters of one name at eight pawld, as many at each, and half of them at the first.
overtaking() {
    local ports=("$pawld_port") pids=() options=() port pid
    while ((${#ports[@]} < overtaking_servers)); do
        fleet_free_port
        ports+=("$fleet_port")
        fleet_start_pawld "$fleet_port"
        pids+=("$fleet_pid")
    done
    for port in "${ports[@]}"; do
        options+=(--port "$port")
    done
    measure_overtaking even "${options[@]}"
    measure_overtaking uneven "${options[@]}" --uneven
    for pid in "${pids[@]}"; do
        fleet_stop "$pid"
    done
}

# measure_overtaking SPREAD OPTION...
measure_overtaking() {
    local line
    say "$persistence: $overtaken waiting at $overtaking_servers pawld, $1"
    line=$(chrt --batch 0 "$bench_out/pawl-bench-waiters" "${@:2}" --waiters "$overtaken" \
        --handovers "$((overtaken * 25))") || die "pawl-bench-waiters failed: $line"
    record overtaking "{\"spread\": \"$1\"}" <<<"$line"
}
