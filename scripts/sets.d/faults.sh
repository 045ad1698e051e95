# shellcheck shell=bash
# shellcheck disable=SC2154 # of ways.sh and scripts/sets
# What goes wrong while clients add: a client, a link, or a server. Sourced after ways.sh.

readonly stop_least_ms=2500 stop_most_ms=4000 # longer than a lease
readonly quiet_least_ms=300 quiet_most_ms=1200 # between the beginnings of two faults
readonly lag_s=0.3 promotion_s=0.5             # of a fail-over

# draw_ms LEAST MOST: sets drawn_s, a time in seconds. Not in a subshell, which draws from another seed.
draw_ms() {
    local ms=$(($1 + RANDOM % ($2 - $1)))
    printf -v drawn_s '%d.%03d' $((ms / 1000)) $((ms % 1000))
}

# stop_for SECONDS PID...: SIGSTOP for so long.
stop_for() {
    kill -STOP "${@:2}" 2>/dev/null || true
    sleep "$1"
    kill -CONT "${@:2}" 2>/dev/null || true
}

# fail_over: the master hangs while its replica lags. The replica is promoted. Later the old master is
# back, as a replica. One fail-over at a time: those that come meanwhile are left out.
fail_over() {
    local old new
    mkdir "$current.moving" 2>/dev/null || return 0
    old=$(cat "$current")
    new=$((1 - old))
    kill -STOP "${lag_pids[old]}"
    sleep "$lag_s"
    kill -STOP "${servers[old]}"
    sleep "$promotion_s"
    redis_say "$new" REPLICAOF NO ONE
    echo "$new" >"$current"
    kill -CONT "${lag_pids[old]}" "${servers[old]}"
    redis_follow "$old" "$new"
    rmdir "$current.moving"
}

# fault_begin: one fault, which ends by itself. What is drawn is the same for each way of a round.
fault_begin() {
    local drawn=$((RANDOM % 10)) who=$RANDOM
    draw_ms "$stop_least_ms" "$stop_most_ms"
    if ((drawn < 6)); then
        stop_for "$drawn_s" "${clients[who % ${#clients[@]}]}" &
    elif ((drawn < 8)); then
        # shellcheck disable=SC2086 # words
        stop_for "$drawn_s" ${site_links[who % sites]} &
    elif ((${#lag_pids[@]} > 0)); then
        fail_over &
    else
        stop_for "$drawn_s" "${servers[who % ${#servers[@]}]}" &
    fi
    faults_pids+=("$!")
}

# stop_a_worker: a client that has read and not yet written, as its file says.
stop_a_worker() {
    local working=("$folder"/working.*) number
    [ -e "${working[0]}" ] || return 0
    draw_ms "$stop_most_ms" $((stop_most_ms + 1000)) # a busy machine needs time to add more
    number=${working[RANDOM % ${#working[@]}]##*.}
    stop_for "$drawn_s" "${clients[number]}" &
    faults_pids+=("$!")
}

# faults_for SECONDS SEED: returns when all have ended.
faults_for() {
    local end=$((SECONDS + $1))
    faults_pids=()
    RANDOM=$2
    while ((SECONDS < end)); do
        if $short; then stop_a_worker; else fault_begin; fi
        draw_ms "$quiet_least_ms" "$quiet_most_ms"
        sleep "$drawn_s"
    done
    wait "${faults_pids[@]}" || true
}
