# shellcheck shell=bash
# Real Redis masters and Pawl services on loopback, in a temporary folder, for the scripts that show,
# try or measure something. Sourced after `set -euo pipefail`; brings lib.sh along.
#
# Each process gets a session of its own, so that a Ctrl-C reaches only the script, which then ends
# the others in order; and it dies with the script, even one that is killed (--pdeathsig).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# curl would ask a proxy of the environment for loopback, too.
no_proxy=${no_proxy:-${NO_PROXY:-}}
export no_proxy=${no_proxy:+$no_proxy,}127.0.0.1,localhost

fleet_dir=          # for the files of all of them; gone at the end
fleet_pids=()       # all that run, in the order in which they were started
fleet_master_pids=()
fleet_master_urls=()
fleet_masters=()    # the options that name the masters: --master URL ...
fleet_pid=          # the process started last
fleet_port=         # where it listens
fleet_wanted=0      # Redis masters that a script is to start; 0: none, but a file
fleet_log=          # what the pawld started last writes

# fleet_build PROGRAM...: builds (and installs, on a fresh machine) unless these programs, named from
# the build folder, are there and newer than all sources. A build folder of the caller's own
# (PAWL_BUILD) is the caller's to keep.
fleet_build() {
    local program newer tests=()
    [ -z "${PAWL_BUILD:-}" ] || return 0
    for program in curl jq redis-server; do
        command -v "$program" >/dev/null || "$pawl_root/scripts/setup" --run
    done
    for program in "$@"; do
        newer=missing
        [ ! -f "$pawl_build/$program" ] ||
            newer=$(cd "$pawl_root" && find CMakeLists.txt "${pawl_layers[@]}" scripts/bench.d/programs \
                -newer "$pawl_build/$program" -print -quit)
        if [ -n "$newer" ]; then
            [[ $* != *bench/* ]] || tests=(--tests)
            "$pawl_root/scripts/build" "${tests[@]}"
            return
        fi
    done
}

# fleet_begin: makes the folder, and makes sure that nothing outlives the script.
fleet_begin() {
    fleet_dir=$(mktemp -d "${TMPDIR:-/tmp}/pawl-XXXXXX")
    trap fleet_end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# The EXIT trap: ends what was started, the last first.
fleet_end() {
    local i
    trap '' INT TERM
    for ((i = ${#fleet_pids[@]} - 1; i >= 0; i--)); do
        fleet_stop "${fleet_pids[i]}"
    done
    rm -rf "$fleet_dir"
}

# ---- processes -----------------------------------------------------------------------------------

# fleet_spawn LOG COMMAND...: starts a process; sets fleet_pid, which is its process group too.
fleet_spawn() {
    local log=$1
    shift
    setsid setpriv --pdeathsig KILL -- "$@" </dev/null >>"$log" 2>&1 &
    fleet_adopt $!
}

# fleet_adopt PID: from now on the process is stopped with the others.
fleet_adopt() {
    fleet_pid=$1
    fleet_pids+=("$fleet_pid")
}

# fleet_wait_line LOG REGEX: waits until the process started last has written such a line.
fleet_wait_line() {
    local log=$1 regex=$2 tries
    for ((tries = 0; tries < 500; tries++)); do
        grep -Eqs "$regex" "$log" && return
        kill -0 "$fleet_pid" 2>/dev/null || break
        sleep 0.02
    done
    cat "$log" >&2
    die "a process did not start; what it wrote is above"
}

# fleet_stop PID: SIGTERM, to a stopped one too, and SIGKILL if it has not ended seconds later.
fleet_stop() {
    local pid=$1 tries i
    kill -TERM -- "-$pid" "$pid" 2>/dev/null || true
    kill -CONT -- "-$pid" "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 250; tries++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.02
    done
    kill -KILL -- "-$pid" "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    for i in "${!fleet_pids[@]}"; do
        [ "${fleet_pids[i]}" != "$pid" ] || unset "fleet_pids[$i]"
    done
    fleet_pids=("${fleet_pids[@]}")
}

# ---- ports ---------------------------------------------------------------------------------------

# fleet_port_taken PORT: whether somebody listens there.
fleet_port_taken() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# fleet_free_port: sets fleet_port to a port where nobody listens, below those from which the kernel
# connects, so that no outgoing connection takes the port of a master that is down for a while.
fleet_free_port() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        fleet_port=$((10000 + SRANDOM % 20000))
        fleet_port_taken "$fleet_port" || return 0
    done
    die "found no free port on 127.0.0.1"
}

# ---- masters -------------------------------------------------------------------------------------

# fleet_start_masters COUNT always|none [OPTION...]: independent masters, durable or without persistence.
fleet_start_masters() {
    local count=$1 persistence=$2 i dir append=no
    shift 2
    [ "$persistence" = none ] || append=yes
    fleet_master_pids=()
    fleet_master_urls=()
    fleet_masters=()
    for ((i = 1; i <= count; i++)); do
        dir=$(mktemp -d "$fleet_dir/redis-XXXXXX")
        fleet_free_port
        fleet_spawn "$dir/log" redis-server --port "$fleet_port" --bind 127.0.0.1 --dir "$dir" \
            --save "" --appendonly "$append" --appendfsync always "$@"
        fleet_wait_line "$dir/log" "[Rr]eady to accept connections"
        fleet_master_pids+=("$fleet_pid")
        fleet_master_urls+=("redis://127.0.0.1:$fleet_port")
        fleet_masters+=(--master "redis://127.0.0.1:$fleet_port")
    done
}

# fleet_embed: in place of masters, a folder for a file of pawld's own.
fleet_embed() {
    fleet_master_pids=()
    fleet_master_urls=()
    fleet_masters=(--data "$fleet_dir/data")
}

# fleet_masters_wanted [--masters N]: sets fleet_wanted, the number of Redis masters that the options of
# a script ask for; 0: none, but a file.
fleet_masters_wanted() {
    fleet_wanted=0
    [ $# -gt 0 ] || return 0
    [[ $# -eq 2 && $1 = --masters && $2 =~ ^[13579]$ ]] ||
        die "takes --masters 1, 3, 5, 7 or 9, and no more; see --help"
    fleet_wanted=$2
}

# fleet_start_wanted: these masters, as a new fleet.
fleet_start_wanted() {
    if [ "$fleet_wanted" -eq 0 ]; then
        fleet_embed
        return
    fi
    fleet_start_masters "$fleet_wanted" always
    fleet_init
}

# fleet_wanted_words: what they are, for people.
fleet_wanted_words() {
    case $fleet_wanted in
        0) echo "pawld, which keeps locks and tokens in a file" ;;
        1) echo "one Redis master (appendonly yes, appendfsync always) and pawld" ;;
        *) echo "$fleet_wanted Redis masters (appendonly yes, appendfsync always) and pawld" ;;
    esac
}

# fleet_stop_masters: ends them; their data go with the folder.
fleet_stop_masters() {
    local pid
    for pid in "${fleet_master_pids[@]}"; do
        fleet_stop "$pid"
    done
}

# ---- services ------------------------------------------------------------------------------------

# fleet_init: makes a new fleet of the masters that were started last.
fleet_init() {
    "$pawl_build/bin/pawld" init --new "${fleet_masters[@]}" >"$fleet_dir/init.log" 2>&1 && return
    cat "$fleet_dir/init.log" >&2
    die "pawld init --new failed; what it wrote is above"
}

# fleet_start_pawld PORT [OPTION...]: serves plain HTTP from these masters; returns when a majority may
# vote.
fleet_start_pawld() {
    local tries log
    log=$(mktemp "$fleet_dir/pawld-XXXXXX.log")
    fleet_spawn "$log" "$pawl_build/bin/pawld" --listen "http://127.0.0.1:$1" \
        "${fleet_masters[@]}" "${@:2}"
    # shellcheck disable=SC2034 # bench.d/attacked.sh reads it
    fleet_log=$log
    fleet_wait_line "$log" "listening on 127\.0\.0\.1:$1"
    for ((tries = 0; tries < 250; tries++)); do
        curl -sf -o /dev/null "http://127.0.0.1:$1/readyz" && return
        sleep 0.02
    done
    cat "$log" >&2
    die "pawld did not become ready; what it wrote is above"
}

# fleet_start_ledger PORT [OPTION...]: the sample resource, over a new database.
fleet_start_ledger() {
    local port=$1 dir
    shift
    dir=$(mktemp -d "$fleet_dir/ledger-XXXXXX")
    fleet_spawn "$dir/log" "$pawl_build/bin/pawl-ledger" --listen "127.0.0.1:$port" \
        --db "$dir/ledger.db" "$@"
    fleet_wait_line "$dir/log" "listening on 127\.0\.0\.1:$port"
}
