# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # of scripts/bench, fleet.sh and candidates.sh, or read there
# Named counters, with fsync on every write. Sourced after embedded.sh.
#
#   one         all clients count for one name, one value a call, on five masters
#   one-by-100  the same, 100 values a call
#   many        each client counts for a name of its own, one value a call
#   file        as one, of a fleet that is a file
#   incr        INCR of one key on one Redis master that is durable, by redis-benchmark

readonly counters_candidates=(one one-by-100 many file incr)
counters_ports=() # of pawld: on five masters, on the file

# counters: each candidate's turn at each number of clients, in another order each round.
counters() {
    local round k i turn=0 count=${#counters_candidates[@]}
    candidates_stop
    counters_start
    for ((round = 1; round <= rounds; round++)); do
        say "counters, round $round of $rounds"
        for k in "${clients[@]}"; do
            for ((i = 0; i < count; i++)); do
                measure_counters "${counters_candidates[((round % 2 ? i : count - 1 - i) + turn) % count]}" \
                    "$k" "$round"
            done
            turn=$((turn + 1))
        done
    done
    counters_stop
}

counters_start() {
    local masters_of_fleet
    fleet_start_masters 5 always
    fleet_init
    masters_of_fleet=("${fleet_master_pids[@]}")
    counters_url=${fleet_master_urls[0]}
    fleet_free_port
    counters_ports=("$fleet_port")
    fleet_start_pawld "$fleet_port"
    counters_pids=("$fleet_pid")
    fleet_embed
    fleet_free_port
    counters_ports+=("$fleet_port")
    fleet_start_pawld "$fleet_port"
    counters_pids+=("$fleet_pid")
    fleet_master_pids=("${masters_of_fleet[@]}")
}

counters_stop() {
    local pid
    for pid in "${counters_pids[@]}"; do
        fleet_stop "$pid"
    done
    fleet_stop_masters
    fleet_master_pids=()
}

# measure_counters CANDIDATE CLIENTS ROUND
measure_counters() {
    local command=("$bench_out/pawl-bench-load") line values=1
    case $1 in
    one) command+=(--port "${counters_ports[0]}" --names 1) ;;
    one-by-100)
        values=100
        command+=(--port "${counters_ports[0]}" --names 1)
        ;;
    many) command+=(--port "${counters_ports[0]}" --names "$2") ;;
    file) command+=(--port "${counters_ports[1]}" --names 1) ;;
    incr)
        incr "$2" "$3"
        return
        ;;
    esac
    line=$(chrt --batch 0 "${command[@]}" --values "$values" --connections "$2" \
        --seconds "$seconds" --warmup "$warmup") || die "failed: ${command[*]}"
    jq -c --argjson values "$values" '.values_per_s = .pairs_per_s * 2 * $values' <<<"$line" |
        record counters "{\"what\": \"$1\", \"round\": $3}"
}

# incr CLIENTS ROUND: redis-benchmark ends after so many calls, which take some seconds.
incr() {
    local calls=$(($1 == 1 ? 4000 : 60000)) rate
    rate=$(redis-benchmark -p "${counters_url##*:}" -c "$1" -n "$calls" --csv INCR bench |
        awk -F '"' '$2 != "test" { print $4 }')
    [ -n "$rate" ] || die "redis-benchmark said nothing"
    record counters "{\"what\": \"incr\", \"round\": $2}" \
        <<<"{\"connections\": $1, \"values_per_s\": $rate}"
}
