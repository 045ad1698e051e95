# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench and candidates.sh
# What clients that follow events cost the pairs of others: the pairs, the CPU time of pawld for each,
# and the CPU time of these clients, which share its cores here. Sourced after candidates.sh.

readonly readers=1000 readers_clients=64

# readers: nobody follows; many follow a name of their own that nobody locks; many follow all names; and
# many ask for all and never read.
readers() {
    local round what order
    ulimit -S -n "$(ulimit -H -n)" # a connection each
    for ((round = 1; round <= rounds; round++)); do
        order=(none own all deaf)
        [ $((round % 2)) -eq 1 ] || order=(deaf all own none)
        for what in "${order[@]}"; do
            measure_readers "$what" "$round"
        done
    done
}

# measure_readers none|own|all|deaf ROUND
measure_readers() {
    local line options=() got='{}' pid='' before readers_before='' service readers_us=null out=$fleet_dir/readers.json
    [ "$1" = all ] || options+=("--$1")
    if [ "$1" != none ]; then
        chrt --batch 0 "$bench_out/pawl-bench-readers" --port "$pawld_port" --readers "$readers" \
            --seconds "$((${seconds%.*} + 3))" "${options[@]}" >"$out" &
        pid=$!
        sleep 1
    fi
    before=$(cpu_us "$pawld_pid")
    [ -z "$pid" ] || readers_before=$(cpu_us "$pid")
    line=$(candidate_run pawl "$readers_clients" --seconds "$seconds" --warmup 0)
    service=$(used "$before" "$(cpu_us "$pawld_pid")")
    if [ -n "$pid" ]; then
        readers_us=$(used "$readers_before" "$(cpu_us "$pid")")
        wait "$pid" || die "pawl-bench-readers failed"
        got=$(<"$out")
    fi
    say "$persistence: readers $1, round $2: $(jq -c '{pairs_per_s, errors}' <<<"$line") $got"
    record readers "{\"what\": \"$1\", \"round\": $2, \"read\": $got,
        \"seconds\": $seconds, \"service_us\": $service, \"readers_us\": $readers_us}" <<<"$line"
}
