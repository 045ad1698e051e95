# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # of scripts/bench, fleet.sh and candidates.sh, or read there
# What the module for Redis saves: two pawld on the same five masters, which all have it. Sourced after
# tls.sh.
#
#   scripts   one that uses scripts alone
#   module    one that uses the module

# module: each candidate's turn at each number of clients, in another order each round.
module() {
    local round k i what
    local -A port pid
    candidates_stop
    fleet_start_masters "$masters" "$persistence" --loadmodule "$pawl_build/storage/pawl-master.so"
    fleet_init
    for what in scripts module; do
        fleet_free_port
        port[$what]=$fleet_port
        module_start_pawld "$what" "${port[$what]}"
        pid[$what]=$fleet_pid
    done
    for ((round = 1; round <= rounds; round++)); do
        say "$persistence: module, round $round of $rounds"
        for k in "${clients[@]}"; do
            for ((i = 0; i < 2; i++)); do
                what=$(((i + round) % 2))
                what=${what/0/scripts}
                what=${what/1/module}
                measure_module "$what" "${port[$what]}" "$k" "$round"
            done
        done
    done
    fleet_stop "${pid[scripts]}"
    fleet_stop "${pid[module]}"
    candidates_stop
}

module_start_pawld() {
    if [ "$1" = scripts ]; then
        fleet_start_pawld "$2" --no-module
    else
        fleet_start_pawld "$2"
    fi
}

# measure_module WHAT PORT CLIENTS ROUND
measure_module() {
    local line command=("$bench_out/pawl-bench-load" --port "$2")
    line=$(chrt --batch 0 "${command[@]}" --connections "$3" --names "$names" \
        --seconds "$seconds" --warmup "$warmup") || die "failed: ${command[*]}"
    record module "{\"what\": \"$1\", \"round\": $4}" <<<"$line"
}
