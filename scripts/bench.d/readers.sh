# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench and candidates.sh
# What clients that follow events cost the pairs of others. Sourced after candidates.sh.

readonly readers=1000 readers_clients=64

# readers: nobody follows; many follow a name of their own that nobody locks; many follow all names; and
# many ask for all and never read.
readers() {
    local round what
    ulimit -S -n "$(ulimit -H -n)" # a connection each
    for ((round = 1; round <= rounds; round++)); do
        for what in none own all deaf; do
            measure_readers "$what" "$round"
        done
    done
}

# measure_readers none|own|all|deaf ROUND
measure_readers() {
    local line options=() got='{}' pid='' out=$fleet_dir/readers.json
    [ "$1" = all ] || options+=("--$1")
    if [ "$1" != none ]; then
        chrt --batch 0 "$bench_out/pawl-bench-readers" --port "$pawld_port" --readers "$readers" \
            --seconds "$((seconds + 2))" "${options[@]}" >"$out" &
        pid=$!
        sleep 1
    fi
    line=$(candidate_run pawl "$readers_clients" --seconds "$seconds" --warmup "$warmup")
    if [ -n "$pid" ]; then
        wait "$pid" || die "pawl-bench-readers failed"
        got=$(<"$out")
    fi
    say "$persistence: readers $1, round $2: $(jq -c '{pairs_per_s, errors}' <<<"$line") $got"
    record readers "{\"what\": \"$1\", \"round\": $2, \"read\": $got}" <<<"$line"
}
