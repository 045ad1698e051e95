# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # of scripts/bench and fleet.sh, or read by candidates.sh
# How fast one client is served, on three masters, while others ask for what is costly as fast as they
# are answered; and what one such request costs. Sourced after candidates.sh. Each flood comes behind a
# calm turn of the same round.

readonly floods_masters=3 floods_held=20032 # locks, for the listings: 313 groups of 64
readonly floods_crowds=(10 60 300)          # clients
# Kind, as pawl-bench-flood knows it; where it is sent to; how pawld is started.
readonly floods_kinds=(
    'hello tls rsa' 'hello tls ecdsa' 'hello tls rsa-clients' 'hello tls ecdsa-clients'
    'metrics metrics ecdsa' 'listing plain ecdsa' 'group plain ecdsa' 'waiting-group plain ecdsa'
    'batch plain ecdsa'
    'body plain ecdsa' 'half-head plain ecdsa'
)

# floods: each kind from each crowd.
floods() {
    local kind port how round many
    candidates_stop
    floods_certificates
    fleet_start_masters "$floods_masters" "$persistence"
    fleet_init
    for round in $(seq "$rounds"); do
        for kind in "${floods_kinds[@]}"; do
            read -r kind port how <<<"$kind"
            floods_start "$how"
            [ "$kind" != listing ] || floods_hold
            floods_measure "$kind" "$how" 0 "$round"
            floods_cost "$kind" "$how" "$round" "floods_${port}_port"
            for many in "${floods_crowds[@]}"; do
                floods_measure "$kind" "$how" "$many" "$round" "floods_${port}_port"
            done
            fleet_stop "$pawld_pid"
            pawld_pid=
        done
    done
}

# floods_certificates: one of RSA and one of an elliptic curve, and an authority of clients.
floods_certificates() {
    local end=(-noenc -days 2 -subj /CN=bench)
    openssl req -x509 -newkey rsa:2048 -addext basicConstraints=critical,CA:FALSE \
        -keyout "$fleet_dir/rsa.key" -out "$fleet_dir/rsa.pem" "${end[@]}" 2>/dev/null
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
        -addext basicConstraints=critical,CA:FALSE \
        -keyout "$fleet_dir/ecdsa.key" -out "$fleet_dir/ecdsa.pem" "${end[@]}" 2>/dev/null
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
        -addext basicConstraints=critical,CA:TRUE,pathlen:0 \
        -keyout "$fleet_dir/clients.key" -out "$fleet_dir/clients.pem" "${end[@]}" 2>/dev/null
}

# floods_start rsa|ecdsa[-clients]: a pawld with such a certificate, that asks its clients for theirs.
floods_start() {
    local options=()
    [[ $1 != *-clients ]] || options=(--tls-client-ca "$fleet_dir/clients.pem" --tls-client optional)
    fleet_free_port
    floods_tls_port=$fleet_port
    fleet_free_port
    floods_metrics_port=$fleet_port
    fleet_free_port
    floods_plain_port=$fleet_port
    pawld_port=$fleet_port
    fleet_start_pawld "$pawld_port" --listen "https://127.0.0.1:$floods_tls_port" \
        --tls-cert "$fleet_dir/${1%-clients}.pem" --tls-key "$fleet_dir/${1%-clients}.key" \
        --metrics-listen "127.0.0.1:$floods_metrics_port" "${options[@]}"
    pawld_pid=$fleet_pid
    floods_log=$fleet_log
}

# floods_hold: takes the locks that are listed.
floods_hold() {
    local first
    for ((first = 0; first < floods_held; first += 64)); do
        jq -nc --argjson first "$first" \
            '{ttl_ms: 300000, resources: [range(64) | "held/\(. + $first)"]}'
    done | xargs -d '\n' -n 1 -P 4 curl -sf -o /dev/null "http://127.0.0.1:$pawld_port/v1/locks" \
        -H 'Content-Type: application/json' -d || true # held already, in a later round
}

# floods_measure KIND HOW CROWD ROUND [PORT-VARIABLE]: a crowd of 0 is calm.
floods_measure() {
    local line flood=0 said=null silent_before silent
    silent_before=$(floods_silent)
    if [ "$3" -gt 0 ]; then
        "$bench_out/pawl-bench-flood" --port "${!5}" --kind "$1" --clients "$3" \
            --seconds "$((${seconds%.*} + 2))" >"$bench_out/flood.json" &
        flood=$!
        sleep 0.5
    fi
    line=$("$bench_out/pawl-bench-load" --port "$pawld_port" --connections 1 \
        --seconds "$seconds" --warmup "$warmup")
    if [ "$flood" -gt 0 ]; then
        wait "$flood"
        said=$(<"$bench_out/flood.json")
    fi
    silent=$(($(floods_silent) - silent_before))
    record floods "{\"what\": \"$1\", \"how\": \"$2\", \"crowd\": $3, \"round\": $4, \"silent\": $silent, \"flood\": $said}" <<<"$line"
    say "$1 ($2), $3 clients: $(jq -c '{acquire_us, errors}' <<<"$line"), masters judged silent: $silent, $said"
}

# floods_cost KIND HOW ROUND PORT-VARIABLE: the CPU time of one request in pawld and in all masters, beside
# that of an acquire with its release.
floods_cost() {
    local before line pair
    before=$(floods_cpu)
    line=$("$bench_out/pawl-bench-load" --port "$pawld_port" --connections 1 --seconds "$seconds" \
        --warmup 0)
    pair=$(jq -n --argjson before "$before" --argjson after "$(floods_cpu)" --argjson line "$line" \
        --argjson seconds "$seconds" '[$after, $before] | transpose | map((.[0] - .[1]) /
        ($line.pairs_per_s * $seconds))')
    before=$(floods_cpu)
    line=$("$bench_out/pawl-bench-flood" --port "${!4}" --kind "$1" --clients 1 --seconds "${seconds%.*}")
    jq -nc --argjson before "$before" --argjson after "$(floods_cpu)" --argjson line "$line" \
        --argjson pair "$pair" '{$pair, request: [$after, $before] | transpose | map((.[0] - .[1]) / $line.asked)}' |
        record costs "{\"what\": \"$1\", \"how\": \"$2\", \"round\": $3}"
}

# floods_cpu: [pawld, all masters], microseconds of CPU time so far.
floods_cpu() {
    local pid ticks=0 tick
    tick=$((1000000 / $(getconf CLK_TCK)))
    for pid in "${fleet_master_pids[@]}"; do
        ticks=$((ticks + $(floods_ticks "$pid")))
    done
    echo "[$(($(floods_ticks "$pawld_pid") * tick)), $((ticks * tick))]"
}

# floods_ticks PID: clock ticks that the process used (proc(5): utime and stime).
floods_ticks() {
    local stat
    stat=$(<"/proc/$1/stat")
    # shellcheck disable=SC2086 # fields
    set -- ${stat##*) }
    echo $((${12} + ${13}))
}

# floods_silent: how often pawld judged a master silent so far.
floods_silent() {
    grep -c 'did not answer in time' "$floods_log" || true
}
