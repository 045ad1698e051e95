# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench and candidates.sh
# What a pair costs, and where: CPU time by process, which every kernel counts; for pawld also by
# part of it, sampled by perf, and its instructions, counted by valgrind. (A virtual machine rarely
# lets perf count instructions.) Sourced after candidates.sh.

readonly profile_clients=64 counted_clients=(1 16) counted_pairs=2000

profile() {
    local candidate round
    say "$persistence: profile"
    measure_idle
    for ((round = 1; round <= rounds; round++)); do
        for candidate in "${candidates[@]}"; do
            measure_cpu "$candidate"
        done
    done
    sample_pawld
    if [ "$persistence" = none ]; then # the instructions are the same
        count_instructions
    fi
}

# ---- CPU time ------------------------------------------------------------------------------------

# cpu_us PID...: prints what these processes have used so far, together: {"user":...,"system":...}.
# The kernel counts in ticks (field 14 and 15 of stat), of which there are a hundred a second or so.
cpu_us() {
    local pid
    for pid in "$@"; do
        sed 's/^.*) //' "/proc/$pid/stat" # the name, in brackets, may hold blanks
    done | awk -v tick="$(getconf CLK_TCK)" '
        { user += $12; kernel += $13 }
        END { printf "{\"user\":%.0f,\"system\":%.0f}\n", user / tick * 1e6, kernel / tick * 1e6 }'
}

# used BEFORE AFTER: the difference of two lines of cpu_us.
used() {
    jq -nc --argjson before "$1" --argjson after "$2" \
        '{user: ($after.user - $before.user), system: ($after.system - $before.system)}'
}

# measure_cpu CANDIDATE: one run without a warm-up, so that what was used belongs to the pairs that
# were counted: by the servers that keep the state, by pawld or the relay if it is the candidate, by the client.
measure_cpu() {
    local name=$1 keepers=("${fleet_master_pids[@]}") keepers_before serves='' service_before line service=0
    [ "$name" != etcd ] || keepers=("${etcd_pids[@]}")
    candidate_wake "$name"
    keepers_before=$(cpu_us "${keepers[@]}")
    case $name in
    pawl) serves=$pawld_pid ;;
    relay) serves=$relay_pid ;;
    esac
    [ -z "$serves" ] || service_before=$(cpu_us "$serves")
    line=$(candidate_run "$name" "$profile_clients" --seconds "$seconds" --warmup 0)
    [ -z "$serves" ] || service=$(used "$service_before" "$(cpu_us "$serves")")
    record cpu "{\"what\": \"$name\", \"service_us\": $service,
                 \"keepers_us\": $(used "$keepers_before" "$(cpu_us "${keepers[@]}")")}" <<<"$line"
    candidate_rest "$name"
}

# measure_idle: what masters and pawld use while it is the turn of somebody else.
measure_idle() {
    local before
    before=$(cpu_us "$pawld_pid" "${fleet_master_pids[@]}")
    sleep 2
    record idle '{"seconds": 2}' \
        <<<"{\"cpu_us\": $(used "$before" "$(cpu_us "$pawld_pid" "${fleet_master_pids[@]}")")}"
}

# ---- pawld's time by part ------------------------------------------------------------------------

# sample_pawld: the share of each library and of the kernel in pawld's time, and of its functions
# in profile-PERSISTENCE.txt.
sample_pawld() {
    local data=$fleet_dir/perf.data recorder
    perf record -q -e cpu-clock -F 1999 -p "$pawld_pid" -o "$data" </dev/null >/dev/null 2>&1 &
    fleet_adopt $!
    recorder=$fleet_pid
    sleep 0.3
    candidate_run pawl "$profile_clients" --seconds "$seconds" --warmup 0 >/dev/null
    kill -INT "$recorder" 2>/dev/null || true # it writes what it has
    wait "$recorder" 2>/dev/null || true
    fleet_stop "$recorder"
    if ! perf_report "$data" dso,symbol >"$bench_out/profile-$persistence.txt"; then
        rm "$bench_out/profile-$persistence.txt"
        say "perf cannot sample here: pawld's time by part is left out"
        return
    fi
    perf_report "$data" dso | awk '{ sub(/%/, "", $1); sub(/\.so.*/, "", $2)
        printf "{\"part\":\"%s\",\"percent\":%s}\n", $2 ~ /kernel/ ? "kernel" : $2, $1 }' |
        record time '{}'
}

# perf_report FILE KEYS: lines of a share in percent and what has it, the greatest first.
perf_report() {
    perf report -q --stdio -g none --percent-limit 0.2 -s "$2" -i "$1" 2>/dev/null </dev/null |
        sed '/^ *$/d; s/^ *//; s/ *$//' | grep .
}

# ---- pawld's instructions ------------------------------------------------------------------------

# count_instructions: of a pawld of its own, under valgrind, on the same masters. That one is some
# fifty times slower: the requests of all clients are there together, so that it takes them in one
# turn. How many clients there are says how many requests share the cost of a turn.
count_instructions() {
    local k
    if ! command -v valgrind >/dev/null; then
        say "no valgrind: pawld's instructions are left out"
        return
    fi
    for k in "${counted_clients[@]}"; do
        count_instructions_of "$k"
    done
}

# count_instructions_of CLIENTS: what is done inside its loop (uv_run), so not the start.
count_instructions_of() {
    local out=$fleet_dir/callgrind-$1 port pid line
    fleet_free_port
    port=$fleet_port
    fleet_spawn "$out.log" valgrind --tool=callgrind --toggle-collect=uv_run \
        --callgrind-out-file="$out" \
        "$pawl_build/bin/pawld" --listen "127.0.0.1:$port" "${fleet_masters[@]}"
    pid=$fleet_pid
    wait_ready "$port"
    line=$("$bench_out/pawl-bench-load" --port "$port" --connections "$1" --pairs "$counted_pairs" \
        --seconds 60) || die "failed: pawl-bench-load on pawld under valgrind"
    fleet_stop "$pid"
    awk -v root="$pawl_root/" -v pairs="$(jq .pairs <<<"$line")" \
        -f "$pawl_root/scripts/bench.d/callgrind.awk" "$out" |
        record instructions "$(jq -c '{connections, errors}' <<<"$line")"
}

# wait_ready PORT: until the slow one may grant.
wait_ready() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        curl -sf -m 5 -o /dev/null "http://127.0.0.1:$1/readyz" && return
        sleep 0.1
    done
    die "pawld does not become ready under valgrind"
}
