# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench and fleet.sh
# How long a master that forgot is out while many locks are held and clients work on. Sourced after
# candidates.sh. Three masters, the longest lease of five minutes.

readonly import_masters=3 import_member=1 # counted from 0
readonly import_id='bench-lock-id-0000000' # and seven digits: of the lock with that number

# import_fill COUNT: so many locks are held, alike on all masters.
import_fill() {
    local url
    for url in "${fleet_master_urls[@]}"; do
        redis-cli -p "${url##*:}" EVAL "
            for i = 1, tonumber(ARGV[1]) do
                redis.call('SET', 'pawl:lock:held/' .. i, string.format(
                    '%s%07d.0123456789abcdef:1:0::bench', ARGV[2], i), 'PX', 290000)
            end
            return 1" 0 "$1" "$import_id" >/dev/null
    done
}

# import_state: what pawld says of the member.
import_state() {
    curl -s "http://127.0.0.1:$pawld_port/v1/fleet" | jq -r ".masters[$import_member].state"
}

import_now_ms() {
    local now=$EPOCHREALTIME
    echo $((${now/./} / 1000))
}

# import_wait STATE: sets import_ms to when it is in that state, or no longer where STATE begins with !.
import_wait() {
    local tries state
    for ((tries = 0; tries < 2000; tries++)); do
        state=$(import_state)
        import_ms=$(import_now_ms)
        if [[ $1 == '!'* && $state != "${1#!}" ]] || [ "$state" = "$1" ]; then
            return
        fi
        sleep 0.05 # each probe takes processor time from what is measured
    done
    die "the master is $state, and not $1"
}

import_wait_all() {
    local tries
    for ((tries = 0; tries < 2000; tries++)); do
        curl -s "http://127.0.0.1:$pawld_port/v1/fleet" |
            jq -e 'all(.masters[]; .state == "active")' >/dev/null && return
        sleep 0.05
    done
    die "not all masters are active"
}

# What happens to the member. When it answers again is in import_began_ms.
import_wiped() {
    redis-cli -p "$import_port" FLUSHALL >/dev/null
    import_began_ms=$(import_now_ms)
}

import_restart() {
    fleet_stop "${fleet_master_pids[import_member]}"
    [ "$1" = keeping ] || rm -rf "$import_dir/appendonlydir"
    rm -f "$import_dir/log"
    fleet_spawn "$import_dir/log" redis-server --port "$import_port" --bind 127.0.0.1 \
        --dir "$import_dir" --save "" --appendonly yes --appendfsync always
    fleet_wait_line "$import_dir/log" "[Rr]eady to accept connections"
    fleet_master_pids[import_member]=$fleet_pid
    import_began_ms=$(import_now_ms)
}

import_restarted() { import_restart keeping; }
import_replaced() { import_restart empty; }

# import_check: with the last master stopped, the one that came back is needed for each majority. A
# lock that was held before is excluded, extended and released there.
import_check() {
    local id answers
    id=$(printf '%s%07d' "$import_id" "$1")
    kill -STOP "${fleet_master_pids[-1]}"
    answers=$(
        import_call "$1" -X POST
        import_call "$1" -X PATCH -H "Lock-Id: $id" -H "Fencing-Token: 1"
        import_call "$1" -X DELETE -H "Lock-Id: $id"
        import_call "$1" -X POST
    )
    kill -CONT "${fleet_master_pids[-1]}"
    import_wait_all
    [ "$(tr '\n' ' ' <<<"$answers")" = "409 200 200 201 " ] ||
        die "a lock that was held before is not excluded, extended, released and free: $answers"
}

import_call() {
    local lock=$1
    shift
    curl -s -o /dev/null -w '%{http_code}\n' "$@" "http://127.0.0.1:$pawld_port/v1/locks/held/$lock"
}

# import_measure LOCKS WHAT CLIENTS: while so many clients work, each as fast as it can.
import_measure() {
    local count=$1 what=$2 busy=$3 load line
    chrt --batch 0 "$bench_out/pawl-bench-load" --port "$pawld_port" --connections "$busy" \
        --names "$names" --seconds 600 --pairs 100000000 --warmup 0 >"$bench_out/import.json" &
    load=$!
    sleep 1
    "import_$what"
    # A quick one may be over before it is seen.
    import_wait active
    while [ "$(redis-cli -p "$import_port" HGET pawl:fleet state)" != active ]; do
        sleep 0.05
    done
    import_wait active
    kill -TERM "$load"
    wait "$load" 2>/dev/null || true
    import_check $((RANDOM % 1000 + 1))
    line=$(jq -n --arg what "$what" --argjson locks "$count" --argjson clients "$busy" \
        --argjson ms $((import_ms - import_began_ms)) '{$what, $locks, $clients, $ms}')
    record import '{}' <<<"$line"
    say "$persistence: $count locks, $what, $busy at work: back after $((import_ms - import_began_ms)) ms"
}

# imports: each number of locks, each way to forget. On masters of their own.
imports() {
    local busy count what
    candidates_stop
    fleet_start_masters "$import_masters" "$persistence"
    fleet_init
    fleet_free_port
    pawld_port=$fleet_port
    fleet_start_pawld "$pawld_port"
    # shellcheck disable=SC2034 # candidates.sh stops it
    pawld_pid=$fleet_pid
    import_port=${fleet_master_urls[import_member]##*:}
    import_dir=$(redis-cli -p "$import_port" CONFIG GET dir | tail -n 1)
    for count in "${imported[@]}"; do
        for what in wiped replaced restarted; do
            for busy in 1 8; do
                import_fill "$count"
                import_wait_all
                import_measure "$count" "$what" "$busy"
            done
        done
    done
}
