# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # persistence, masters, only, bench_out: scripts/bench's; fleet.sh
# Who is measured, on which servers, and how each is loaded. Sourced after fleet.sh and etcd.sh.
#
#   pawl         pawld over HTTP, on five masters
#   module       the same, on five masters of its own, which have the module
#   bare         pawld's script calls to the same masters, with no service between
#   minimal      the least script that locks and counts, called in the same way
#   relay        a plain service over HTTP, with pawld's script calls to the first
#                majority of the same masters
#   gathered     pawld by the client for Node, which gathers the calls of a turn into one request
#   redlock      the redlock package from npm, straight on the same masters
#   redlock-ap   the same with enableAutoPipelining, a setting of its Redis client that is off
#                unless asked for: all commands of a turn leave in one write
#   etcd         five members over their HTTP gateway; only where there is fsync: it always does

readonly names=1000000 # each pair has a name that was not locked for long

candidates=()
pawld_pid= # the service
pawld_port=
module_pids=() # pawld and the masters that have the module
module_port=
relay_pid=
relay_port=

# candidates_peers: whether any of the peers is measured: what they need is installed then.
candidates_peers() {
    is_one_of redlock "${only[@]}" || is_one_of redlock-ap "${only[@]}" || is_one_of etcd "${only[@]}"
}

# candidates_start: the servers of all who are measured under this persistence.
candidates_start() {
    local name
    candidates=(pawl)
    for name in "${only[@]}"; do
        [[ $name = etcd && $persistence != always ]] || candidates+=("$name")
    done
    if is_one_of module "${candidates[@]}"; then
        candidates_start_pawld --loadmodule "$pawl_build/storage/pawl-master.so"
        module_port=$fleet_port
        module_pids=("$fleet_pid" "${fleet_master_pids[@]}")
    fi
    candidates_start_pawld
    pawld_port=$fleet_port
    pawld_pid=$fleet_pid
    if is_one_of relay "${candidates[@]}"; then
        relay_start --majority "${fleet_masters[@]}"
    fi
    if is_one_of etcd "${candidates[@]}"; then
        etcd_start "$masters"
        etcd_pause
    fi
}

# candidates_start_pawld OPTION...: starts a pawld over new masters with these options; sets fleet_port and
# fleet_pid.
candidates_start_pawld() {
    fleet_start_masters "$masters" "$persistence" "$@"
    fleet_init
    fleet_free_port
    fleet_start_pawld "$fleet_port"
}

# relay_start OPTION...: starts one; sets relay_pid and relay_port. It says where it listens when it serves.
relay_start() {
    local log
    log=$(mktemp "$fleet_dir/relay-XXXXXX.log")
    fleet_spawn "$log" "$bench_out/pawl-bench-relay" "$@"
    relay_pid=$fleet_pid
    fleet_wait_line "$log" '^[0-9]+$'
    relay_port=$(cat "$log")
}

# candidates_stop: ends all that was started, if anything was.
candidates_stop() {
    local pid
    etcd_stop
    for pid in "${module_pids[@]}"; do
        fleet_stop "$pid"
    done
    module_pids=()
    if [ -n "$pawld_pid" ]; then
        fleet_stop "$pawld_pid"
    fi
    pawld_pid=
    if [ -n "$relay_pid" ]; then
        fleet_stop "$relay_pid"
    fi
    relay_pid=
    fleet_stop_masters
    fleet_master_pids=()
}

# candidate_wake NAME, candidate_rest NAME: around each of its turns. The members of etcd talk to
# each other all the time, so they are stopped while it is somebody else's turn. The masters and
# pawld do next to nothing when nobody asks: the profile says how much.
candidate_wake() {
    if [ "$1" = etcd ]; then
        etcd_resume
    fi
}

candidate_rest() {
    if [ "$1" = etcd ]; then
        etcd_pause
    fi
}

# candidate_run NAME CLIENTS OPTION...: loads it; prints the line of JSON. The clients would be on
# other machines. Here they share the cores with what they load, so at least they do not preempt it
# (SCHED_BATCH): they run when a core has nothing else to do.
candidate_run() {
    local name=$1 options=(--connections "$2" --names "$names" "${@:3}") command
    case $name in
    pawl) command=("$bench_out/pawl-bench-load" --port "$pawld_port") ;;
    module) command=("$bench_out/pawl-bench-load" --port "$module_port") ;;
    bare) command=("$bench_out/pawl-bench-bare" "${fleet_masters[@]}") ;;
    minimal) command=("$bench_out/pawl-bench-bare" --minimal "${fleet_masters[@]}") ;;
    relay) command=("$bench_out/pawl-bench-load" --port "$relay_port") ;;
    gathered)
        command=(node "$pawl_root/scripts/bench.d/programs/gathered.mjs"
            --server "http://127.0.0.1:$pawld_port")
        ;;
    redlock) command=(node "$bench_out/redlock/bench.mjs" "${fleet_masters[@]}") ;;
    redlock-ap)
        command=(node "$bench_out/redlock/bench.mjs" "${fleet_masters[@]}" --autopipelining)
        ;;
    etcd) command=("$bench_out/pawl-bench-etcd" "${etcd_options[@]}") ;;
    *) die "no such candidate: $name" ;;
    esac
    chrt --batch 0 "${command[@]}" "${options[@]}" || die "failed: ${command[*]} ${options[*]}"
}

# redlock_install: the package, at the versions of its lock file, in the build folder.
redlock_install() {
    local source=$pawl_root/scripts/bench.d/programs/redlock target=$bench_out/redlock
    mkdir -p "$target"
    cp "$source/bench.mjs" "$source/closed_loop.mjs" "$target"
    if cmp -s "$source/package-lock.json" "$target/package-lock.json" &&
        [ -d "$target/node_modules/redlock" ]; then
        return
    fi
    say "installing the redlock package"
    cp "$source/package.json" "$source/package-lock.json" "$target"
    npm ci --prefix "$target" --ignore-scripts --no-audit --no-fund >"$target/npm.log" 2>&1 || {
        cat "$target/npm.log" >&2
        rm "$target/package-lock.json"
        die "npm could not install it; what it wrote is above. --no-peers goes on without"
    }
}
