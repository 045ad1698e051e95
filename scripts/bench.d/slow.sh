# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # of scripts/bench, fleet.sh and candidates.sh, or read there
# How fast pawld acquires while one of the masters is stopped, or far away, beside healthy runs. Sourced
# after candidates.sh and counts.sh.
#
# Each run has masters and a pawld of its own: a master that was stopped has missed what others counted,
# and would cost the healthy runs after it confirmations. Each round it is another master, as it may
# matter which one; and healthy runs come first in every other round.

readonly slow_clients=(1 16)
slow_proxy_pid=

# stopped: fleet_end continues a master that is stopped when the script is ended.
stopped() {
    in_turns stopped
}

# slow: the proxy stands before that master in healthy runs, too: the two differ in the delay alone.
slow() {
    in_turns slow
}

# in_turns SECTION: for each round and number of clients a healthy run and one of the section's.
in_turns() {
    local section=$1 round k order
    candidates_stop
    for ((round = 1; round <= rounds; round++)); do
        say "$persistence: one master $section, round $round of $rounds"
        order=(healthy "$section")
        ((round % 2 == 1)) || order=("$section" healthy)
        for k in "${slow_clients[@]}"; do
            measure_beside "$section" "${order[0]}" "$k" "$round"
            measure_beside "$section" "${order[1]}" "$k" "$round"
        done
    done
}

# measure_beside SECTION WHAT CLIENTS ROUND: WHAT is healthy, or the same as SECTION.
measure_beside() {
    local section=$1 what=$2 k=$3 round=$4 member=$((($4 - 1) % masters)) line counts counted
    slow_open "$section" "$member"
    counts=$(masters_counts)
    counted=$(pawld_counts)
    [ "$what" = healthy ] || "${section}_begin" "$member"
    line=$(candidate_run pawl "$k" --seconds "$seconds" --warmup "$warmup")
    counted=$(grown "$counted" "$(pawld_counts)")
    [ "$what" = healthy ] || "${section}_end" "$member"
    wait_all_active # one that was stopped does now what it was asked then
    counts=$(grown "$counts" "$(masters_counts)")
    slow_close
    record "$section" "{\"what\": \"$what\", \"round\": $round, \"member\": $member,
                        \"pawld\": $counted, \"counts\": $counts}" <<<"$line"
}

stopped_begin() {
    kill -STOP "${fleet_master_pids[$1]}"
}

stopped_end() {
    kill -CONT "${fleet_master_pids[$1]}"
}

slow_begin() {
    kill -USR1 "$slow_proxy_pid"
}

slow_end() {
    kill -USR2 "$slow_proxy_pid"
}

# ---- their servers -------------------------------------------------------------------------------

# slow_open SECTION MEMBER: as candidates_start, without the peers.
slow_open() {
    fleet_start_masters "$masters" "$persistence"
    fleet_init
    [ "$1" != slow ] || slow_put_proxy "$2"
    fleet_free_port
    pawld_port=$fleet_port
    fleet_start_pawld "$pawld_port"
    pawld_pid=$fleet_pid
    wait_all_active
}

# slow_put_proxy MEMBER: pawld, which is not started yet, will reach it through there.
slow_put_proxy() {
    local log
    log=$(mktemp "$fleet_dir/proxy-XXXXXX.log")
    fleet_spawn "$log" "$bench_out/pawl-bench-proxy" \
        --to "${fleet_master_urls[$1]##*:}" --delay-ms "$slow_ms"
    slow_proxy_pid=$fleet_pid
    fleet_wait_line "$log" '^[0-9]+$'
    fleet_masters[2 * $1 + 1]="redis://127.0.0.1:$(<"$log")" # after its --master
}

slow_close() {
    candidates_stop
    if [ -n "$slow_proxy_pid" ]; then
        fleet_stop "$slow_proxy_pid"
        slow_proxy_pid=
    fi
}

wait_all_active() {
    local tries active
    for ((tries = 0; tries < 200; tries++)); do
        active=$(curl -sf -m 5 "http://127.0.0.1:$pawld_port/v1/fleet" |
            jq '[.masters[] | select(.state == "active")] | length')
        [ "$active" != "$masters" ] || return 0
        sleep 0.05
    done
    die "not all masters are active"
}
