# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # of scripts/bench, fleet.sh and candidates.sh, or read there
# What a call about 64 locks or seats costs pawld and the masters, beside one about one lock. Sourced
# after module.sh.
#
#   scripts   three masters that run scripts
#   module    three masters that have the module

readonly groups_masters=3

groups() {
    local round what
    candidates_stop
    for what in scripts module; do
        groups_start "$what"
        for ((round = 1; round <= rounds; round++)); do
            say "groups: $what, round $round of $rounds"
            groups_measure "$what" "$round"
        done
        fleet_stop "$pawld_pid"
        pawld_pid=
        candidates_stop
    done
}

# groups_start scripts|module
groups_start() {
    local module=()
    [ "$1" = scripts ] || module=(--loadmodule "$pawl_build/storage/pawl-master.so")
    fleet_start_masters "$groups_masters" "$persistence" "${module[@]}"
    fleet_init
    fleet_free_port
    pawld_port=$fleet_port
    fleet_start_pawld "$pawld_port"
    pawld_pid=$fleet_pid
}

# groups_measure WHAT ROUND
groups_measure() {
    local IFS=,
    python3 -B "$pawl_root/scripts/bench.d/programs/groups.py" --port "$pawld_port" \
        --pawld "$pawld_pid" --masters "${fleet_master_pids[*]}" --seconds "$seconds" |
        record groups "{\"masters\": \"$1\", \"round\": $2}"
}
