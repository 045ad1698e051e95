# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # of scripts/bench, fleet.sh, etcd.sh and candidates.sh, or read there
# A fleet that is a file, beside others of one server. Sourced after candidates.sh.
#
#   file       pawld over HTTP, on a file of its own
#   rows       the same transactions in one loop, with no service between
#   relay      a plain service over HTTP, before the same transactions
#   http       the same with nothing behind it: HTTP alone
#   one-redis  pawld over HTTP, on one Redis master with fsync on every write
#   etcd-1     one etcd member, over its gateway

readonly embedded_candidates=(file rows relay http one-redis etcd-1)
embedded_ports=() # of pawld: on the file, on the Redis
embedded_relay=   # ports
embedded_http=

# embedded: each candidate's turn at each number of clients, in another order each round.
embedded() {
    local round k i turn=0 count=${#embedded_candidates[@]}
    candidates_stop
    embedded_start
    for ((round = 1; round <= rounds; round++)); do
        say "embedded, round $round of $rounds"
        for k in "${clients[@]}"; do
            for ((i = 0; i < count; i++)); do
                measure_embedded "${embedded_candidates[((round % 2 ? i : count - 1 - i) + turn) % count]}" \
                    "$k" "$round"
            done
            turn=$((turn + 1))
        done
    done
    embedded_stop
}

embedded_start() {
    local masters_of_redis
    fleet_start_masters 1 always
    fleet_init
    masters_of_redis=("${fleet_master_pids[@]}")
    fleet_free_port
    embedded_ports=("$fleet_port")
    fleet_start_pawld "$fleet_port"
    embedded_pids=("$fleet_pid")
    fleet_embed
    fleet_free_port
    embedded_ports=("$fleet_port" "${embedded_ports[@]}")
    fleet_start_pawld "$fleet_port"
    embedded_pids+=("$fleet_pid")
    fleet_master_pids=("${masters_of_redis[@]}")
    relay_start --data "$(mktemp -d "$fleet_dir/relay-XXXXXX")"
    embedded_relay=$relay_port
    embedded_pids+=("$relay_pid")
    relay_start --alone
    embedded_http=$relay_port
    embedded_pids+=("$relay_pid")
    relay_pid=
    etcd_start 1
    etcd_pause
}

embedded_stop() {
    local pid
    etcd_stop
    for pid in "${embedded_pids[@]}"; do
        fleet_stop "$pid"
    done
    fleet_stop_masters
    fleet_master_pids=()
}

# measure_embedded CANDIDATE CLIENTS ROUND
measure_embedded() {
    local command line
    [ "$1" != etcd-1 ] || etcd_resume
    case $1 in
    file) command=("$bench_out/pawl-bench-load" --port "${embedded_ports[0]}") ;;
    rows) command=("$bench_out/pawl-bench-rows" --data "$(mktemp -d "$fleet_dir/rows-XXXXXX")") ;;
    relay) command=("$bench_out/pawl-bench-load" --port "$embedded_relay") ;;
    http) command=("$bench_out/pawl-bench-load" --port "$embedded_http") ;;
    one-redis) command=("$bench_out/pawl-bench-load" --port "${embedded_ports[1]}") ;;
    etcd-1) command=("$bench_out/pawl-bench-etcd" "${etcd_options[@]}") ;;
    esac
    line=$(chrt --batch 0 "${command[@]}" --connections "$2" --names "$names" \
        --seconds "$seconds" --warmup "$warmup") || die "failed: ${command[*]}"
    [ "$1" != etcd-1 ] || etcd_pause
    record embedded "{\"what\": \"$1\", \"round\": $3}" <<<"$line"
}
