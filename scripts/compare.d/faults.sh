# shellcheck shell=bash
# shellcheck disable=SC2154 # compare_out: scripts/compare's; server_pid: candidates.sh's; put: words.sh's
# The rows of faults: a server or a wrapper that is stopped or killed. The command and a daemon that it
# started ignore SIGTERM, and write the time while they run. Sourced after candidates.sh.

readonly server_wait_s=40 wrapper_wait_s=60

# alive FILE: whether what writes the time to FILE runs. Its id is in FILE.pid.
alive() {
    local pid
    pid=$(cat "$1.pid" 2>/dev/null) && grep -qsF "$1" "/proc/$pid/cmdline"
}

# end_stamps FILE: ends the command and the daemon that write there.
end_stamps() {
    local file
    for file in "$1" "$1.daemon"; do
        ! alive "$file" || kill -KILL "$(cat "$file.pid")" 2>/dev/null || true
    done
}

# ran_for FILE MS: for how long it ran after the time MS, for people.
ran_for() {
    if alive "$1"; then
        echo "runs for more than $((($(now_ms) - $2) / 1000)) s"
    else
        awk -v last="$(cat "$1")" -v began="$2" \
            'BEGIN { took = last * 1000 - began; printf("ends after %.1f s", (took > 0) ? took / 1000 : 0) }'
    fi
}

faults_of() {
    trap 'faults_end "$BASHPID"' EXIT
    trap 'exit 143' TERM
    wrappers=() files=()
    server_fault "$1" STOP server_stopped
    [ "$1" = flock ] || candidate_restart "$1"
    wrapper_fault "$1" STOP wrapper_stopped
    wrapper_fault "$1" KILL wrapper_killed
    server_fault "$1" KILL server_killed
}

# What a fault left behind, should this end half-way.
faults_end() {
    local pid file
    for pid in "${wrappers[@]}"; do fleet_stop "$pid"; done
    for file in "${files[@]}"; do end_stamps "$file"; done
}

# begin_fault NAME ROW: the command runs. Sets file and wrapper.
begin_fault() {
    file=$fleet_dir/$1-$2
    files+=("$file")
    start_under "$1" "$2" stamp.sh "$file"
    wrapper=$fleet_pid
    wrappers+=("$wrapper")
    sleep 1 # at least one of the extensions is over
}

end_fault() {
    fleet_stop "$wrapper"
    end_stamps "$file"
    wrappers=()
}

# server_fault NAME SIGNAL ROW
server_fault() {
    local name=$1 row=$3 file wrapper began
    if [ "$name" = flock ]; then
        put "$name" "$row" 'has no server'
        return
    fi
    begin_fault "$name" "$row"
    began=$(now_ms)
    kill "-$2" "${server_pid[$name]}"
    while (alive "$file" || alive "$file.daemon") && (($(now_ms) - began < server_wait_s * 1000)); do
        sleep 0.1
    done
    put "$name" "$row" "$(ran_for "$file" "$began")"
    put "$name" "${row}_daemon" "$(ran_for "$file.daemon" "$began")"
    kill -CONT "${server_pid[$name]}" 2>/dev/null || true
    end_fault
}

# wrapper_fault NAME SIGNAL ROW: another wrapper waits for the lock meanwhile.
wrapper_fault() {
    local name=$1 row=$3 file wrapper began words next code wait_s=$wrapper_wait_s
    [ "$name" != flock ] || wait_s=10
    begin_fault "$name" "$row"
    began=$(now_ms)
    kill "-$2" "$wrapper"
    lock_words "$name" "$row"
    fleet_spawn "$compare_out/$name.log" "${words[@]}" sh "$pawl_root/scripts/compare.d/note.sh" "$file.next"
    next=$fleet_pid
    wrappers+=("$next")
    while { alive "$file" || [ ! -s "$file.next" ]; } && (($(now_ms) - began < wait_s * 1000)); do
        sleep 0.1
    done
    put "$name" "$row" "$(ran_for "$file" "$began")"
    put "$name" "${row}_daemon" "$(ran_for "$file.daemon" "$began")"
    put "$name" "${row}_next" "$(next_holder "$file" "$began")"
    if [ "$2" = STOP ]; then
        kill -CONT "$wrapper" 2>/dev/null || true
        wrapper_code "$wrapper" 100
        put "$name" "${row}_code" "$code"
    fi
    fleet_stop "$next"
    end_fault
}

# next_holder FILE MS: when it came, and whether the command ran beside it.
next_holder() {
    local at last
    at=$(cat "$1.next" 2>/dev/null)
    if [ -z "$at" ]; then
        echo 'does not get the lock'
        return
    fi
    last=$(cat "$1")
    awk -v at="$at" -v last="$last" -v began="$2" 'BEGIN {
        printf("gets the lock after %.1f s, %s", at - began / 1000, (last > at) ? "BESIDE the command" : "alone") }'
}
