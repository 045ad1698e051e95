# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # of scripts/bench, fleet.sh and candidates.sh, or read there
# What TLS costs, alone and with keys: two pawld on the same five masters. Sourced after keys.sh.
#
#   plain   over HTTP
#   tls     over TLS 1.3, on connections that stand
#   both    the same, by clients with a key, to a pawld with a key file

readonly tls_candidates=(plain tls both)

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
    fleet_stop "$tls_keyed_pid"
}

tls_start() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2 \
        -addext basicConstraints=critical,CA:FALSE -addext keyUsage=critical,digitalSignature \
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
    tls_start_keyed
}

tls_start_keyed() {
    local port
    rm -f "$fleet_dir/tls.keys"
    "$pawl_build/bin/pawl" key new --role lock --prefix bench/ --file "$fleet_dir/tls.keys" >"$fleet_dir/bench.key"
    fleet_free_port
    tls_keyed_port=$fleet_port
    fleet_free_port
    port=$fleet_port
    fleet_start_pawld "$port" --listen "https://127.0.0.1:$tls_keyed_port" --keys "$fleet_dir/tls.keys" \
        --tls-cert "$fleet_dir/tls.pem" --tls-key "$fleet_dir/tls.key"
    tls_keyed_pid=$fleet_pid
}

# measure_tls CANDIDATE CLIENTS ROUND
measure_tls() {
    local command=("$bench_out/pawl-bench-load") line key=''
    case $1 in
    plain) command+=(--port "$pawld_port") ;;
    tls) command+=(--port "$tls_port" --tls) ;;
    both)
        command+=(--port "$tls_keyed_port" --tls)
        key=$(<"$fleet_dir/bench.key")
        ;;
    esac
    line=$(PAWL_KEY=$key chrt --batch 0 "${command[@]}" --connections "$2" --names "$names" \
        --seconds "$seconds" --warmup "$warmup") || die "failed: ${command[*]}"
    record tls "{\"what\": \"$1\", \"round\": $3}" <<<"$line"
}
