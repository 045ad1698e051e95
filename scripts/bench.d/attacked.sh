# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench and fleet.sh
# How fast others are served while the service is attacked from the network, or has many clients that
# are slow, deaf or idle. Sourced after candidates.sh. Three masters, and turns with and without them.

readonly attack_masters=3 attack_clients=8 attack_margin=5 # seconds, in which all attackers connect

# attacked_measure WHAT SECTION ROUND
attacked_measure() {
    local line attacker='' said='{}' silent_before silent kinds=()
    silent_before=$(attacked_silent)
    case $1 in
    attacked) kinds=(--endless-lines "${attack[0]}" --half-heads "${attack[1]}" --groups "${attack[2]}") ;;
    crowded) kinds=(--slow "${crowd[0]}" --deaf "${crowd[1]}" --idle "${crowd[2]}") ;;
    esac
    if [ ${#kinds[@]} -gt 0 ]; then
        "$bench_out/pawl-bench-attack" --port "$pawld_port" "${kinds[@]}" \
            --seconds $((${seconds%.*} + 2 * attack_margin)) >"$bench_out/attack.json" &
        attacker=$!
        sleep "$attack_margin"
    fi
    line=$("$bench_out/pawl-bench-load" --port "$pawld_port" --connections "$attack_clients" \
        --seconds "$seconds" --warmup "$warmup")
    if [ -n "$attacker" ]; then
        wait "$attacker"
        said=$(<"$bench_out/attack.json")
    fi
    silent=$(($(attacked_silent) - silent_before))
    record "$2" "{\"what\": \"$1\", \"round\": $3, \"silent\": $silent, \"attack\": $said}" <<<"$line"
    say "$persistence: $1, round $3: $(jq -c '{pairs_per_s, acquire_us, errors}' <<<"$line"), masters judged silent: $silent, $said"
}

# attacked_silent: how often pawld judged a master silent so far.
attacked_silent() {
    grep -c 'did not answer in time' "$attack_log" || true
}

# attacked_section attacked|crowded
attacked_section() {
    local round
    candidates_stop
    fleet_start_masters "$attack_masters" "$persistence"
    fleet_init
    fleet_free_port
    pawld_port=$fleet_port
    fleet_start_pawld "$pawld_port"
    # shellcheck disable=SC2034 # candidates.sh stops it
    pawld_pid=$fleet_pid
    attack_log=$fleet_log
    for ((round = 1; round <= rounds; round++)); do
        attacked_measure calm "$1" "$round"
        attacked_measure "$1" "$1" "$round"
    done
}
