# shellcheck shell=bash
# shellcheck disable=SC2154 # compare_out, rounds: scripts/compare's; words: candidates.sh's
# The rows that take no time: what the command is given, and exit codes. Sourced after candidates.sh.

# put NAME ROW TEXT: one cell of the table.
put() {
    printf '%s\n' "$3" >"$compare_out/$1.$2"
}

# under NAME LOCK COMMAND...: runs it under a lock, for ten seconds at most.
under() {
    local words name=$1 lock=$2
    shift 2
    lock_words "$name" "$lock"
    timeout 10 "${words[@]}" "$@"
}

# code_of COMMAND...: prints its exit code.
code_of() {
    local code=0
    "$@" >/dev/null 2>&1 </dev/null || code=$?
    echo "$code"
}

words_of() {
    local name=$1
    environment_of "$name"
    put "$name" stdin "$([ "$(echo through | under "$name" stdin cat 2>/dev/null)" = through ] && echo yes || echo no)"
    put "$name" stdout "$([ "$(under "$name" stdout true 2>/dev/null </dev/null | wc -c)" -eq 0 ] && echo yes || echo no)"
    put "$name" exit_7 "$(code_of under "$name" seven sh -c 'exit 7')"
    # shellcheck disable=SC2016 # the command's own
    put "$name" exit_kill "$(code_of under "$name" kill sh -c 'kill -KILL $$')"
    put "$name" exit_none "$(code_of under "$name" none "$fleet_dir/no-such-command")"
    [ "$name" != consul ] || consul_options
    held_of "$name"
    term_of "$name"
    left_of "$name"
}

# What `consul lock` does when it is asked to: by default it does neither.
consul_options() {
    local words through code
    lock_words consul options
    through=$(echo through | timeout 10 "${words[@]:0:2}" -pass-stdin "${words[@]:2}" cat 2>/dev/null) || true
    [ "$through" != through ] || put consul stdin "$(cat "$compare_out/consul.stdin"); with -pass-stdin yes"
    code=$(code_of timeout 10 "${words[@]:0:2}" -child-exit-code "${words[@]:2}" sh -c 'exit 7')
    put consul exit_7 "$(cat "$compare_out/consul.exit_7"); with -child-exit-code $code"
}

# What the command finds that this script does not have.
environment_of() {
    local new
    unset PAWL_SERVER
    new=$(comm -13 <(env | cut -d= -f1 | sort -u) \
        <(under "$1" environment env 2>/dev/null </dev/null | grep -oE '^[A-Z_]+=' | tr -d = | sort -u) |
        grep -vx ETCDCTL_API | tr '\n' ' ') || true
    put "$1" environment "${new:-nothing}"
}

# start_under NAME LOCK PROGRAM FILE: a wrapper of its own session around compare.d/PROGRAM; returns when
# that has written to FILE. Sets fleet_pid, which is the wrapper.
start_under() {
    local words tries
    lock_words "$1" "$2"
    fleet_spawn "$compare_out/$1.log" "${words[@]}" sh "$pawl_root/scripts/compare.d/$3" "$4"
    for ((tries = 0; tries < 200; tries++)); do
        [ ! -s "$4" ] || return 0
        sleep 0.05
    done
    die "$1 does not run $3; see $compare_out/$1.log"
}

held_of() {
    local name=$1 words file=$fleet_dir/$1-held
    lock_words_now "$name" held
    if [ ${#words[@]} -eq 0 ]; then
        put "$name" exit_held 'no such option'
        return
    fi
    start_under "$name" held stamp.sh "$file"
    put "$name" exit_held "$(code_of timeout 10 "${words[@]}" true)"
    fleet_stop "$fleet_pid"
    end_stamps "$file"
}

# Whether the command gets the signal, and what the wrapper's exit code is.
term_of() {
    local name=$1 file=$fleet_dir/$1-term code pid
    start_under "$name" term asked.sh "$file"
    pid=$fleet_pid
    kill -TERM "$pid"
    wrapper_code "$pid" 50
    sleep 0.5
    put "$name" term "$(grep -q asked "$file" && echo 'command gets it' || echo 'command continues'), $code"
    fleet_stop "$pid"
    end_stamps "$file"
}

# wrapper_code PID TENTHS: sets code to the words of its exit code, if it ends in this time.
wrapper_code() {
    local tries
    for ((tries = 0; tries < $2; tries++)); do
        if ! kill -0 "$1" 2>/dev/null; then
            code=0
            wait "$1" 2>/dev/null || code=$?
            code="exit code $code"
            return
        fi
        sleep 0.1
    done
    code='wrapper continues'
}

# What becomes of a daemon when its command exits, and whether somebody else gets the lock.
left_of() {
    local name=$1 file=$fleet_dir/$1-left words text next=no
    under "$name" left sh "$pawl_root/scripts/compare.d/leave.sh" "$file" >/dev/null 2>&1 </dev/null || true
    text=$(alive "$file.daemon" && echo 'daemon continues' || echo 'daemon is ended')
    lock_words "$name" left
    timeout 2 "${words[@]}" true >/dev/null 2>&1 </dev/null && next=yes
    put "$name" left "$text; lock is free: $next"
    end_stamps "$file"
}

# ---- eight at once -------------------------------------------------------------------------------

now_ms() {
    local up rest
    read -r up rest </proc/uptime
    echo $((${up%.*} * 1000 + 10#${up#*.} * 10))
}

# eight_of NAME: the median of the rounds.
eight_of() {
    local round began words pids pid took=()
    for ((round = 1; round <= rounds; round++)); do
        lock_words "$1" "test$round"
        began=$(now_ms) pids=()
        for _ in 1 2 3 4 5 6 7 8; do
            "${words[@]}" date >>"$compare_out/$1.eight.out" 2>&1 </dev/null &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid" || die "one of eight failed; see $compare_out"; done
        took+=($(($(now_ms) - began)))
    done
    echo "${took[*]}" >"$compare_out/$1.eight.ms"
    put "$1" eight "$(printf '%s\n' "${took[@]}" | sort -n |
        awk '{ all[NR] = $1 } END { printf "%.2f s", all[int((NR + 1) / 2)] / 1000 }')"
}
