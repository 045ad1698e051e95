# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # of scripts/bench, fleet.sh and candidates.sh, or read there
# What TLS costs: one pawld on five masters, and two of its ports. Sourced after candidates.sh.
#
#   plain   over HTTP
#   tls     over TLS 1.3, on connections that stand

readonly tls_candidates=(plain tls)

# tls: each candidate's turn at each number of clients, in another order each round.
tls() {
    local round k i count=${#tls_candidates[@]}
    candidates_stop
    tls_start
    for ((round = 1; round <= rounds; round++)); do
        say "$persistence: tls, round $round of $rounds"
        for k in "${clients[@]}"; do
            for ((i = 0; i < count; i++)); do
                measure_tls "${tls_candidates[(i + round) % count]}" "$k" "$round"
            done
        done
    done
}

tls_start() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2 \
        -keyout "$fleet_dir/tls.key" -out "$fleet_dir/tls.pem" -subj /CN=bench 2>/dev/null
    fleet_start_masters "$masters" "$persistence"
    fleet_init
    fleet_free_port
    tls_port=$fleet_port
    fleet_free_port
    pawld_port=$fleet_port
    fleet_start_pawld "$pawld_port" --listen "https://127.0.0.1:$tls_port" \
        --tls-cert "$fleet_dir/tls.pem" --tls-key "$fleet_dir/tls.key"
    pawld_pid=$fleet_pid # candidates.sh stops it
}

# measure_tls CANDIDATE CLIENTS ROUND
measure_tls() {
    local command=("$bench_out/pawl-bench-load") line
    case $1 in
    plain) command+=(--port "$pawld_port") ;;
    tls) command+=(--port "$tls_port" --tls) ;;
    esac
    line=$(chrt --batch 0 "${command[@]}" --connections "$2" --names "$names" \
        --seconds "$seconds" --warmup "$warmup") || die "failed: ${command[*]}"
    record tls "{\"what\": \"$1\", \"round\": $3}" <<<"$line"
}
