# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/demo and fleet.sh
# A scene of the page /story with real processes: three Redis masters, pawld, the ledger or an SQLite
# database with the guard, and clients that are stopped and continued. Sourced by scripts/demo.
#
# A step comes no sooner than in the story, and not before all has happened that the story had told by
# then: on a slow machine a scene takes longer, and goes the same way.

# shellcheck disable=SC2034 # scripts/demo reads it
readonly scenes='gc-pause|delayed-packet|clock-jump|failover|reader-writer'
readonly first_master=16 # STORY_MASTER
client_pids=()
scene_ports=()

# scene_tell KIND WHO VALUE: an event that the script makes itself.
scene_tell() {
    printf '%s %s %s 0 0 0 0 %s\n' "${EPOCHREALTIME/[.,]/}" "$1" "$2" "$3" >>"$EVENTS"
}

# ---- masters -------------------------------------------------------------------------------------

# scene_master I [OPTION...]: starts master I, which has its folder, its port and its clock.
scene_master() {
    local dir=$fleet_dir/master-$1 i=$1
    shift
    mkdir -p "$dir"
    [ -s "$dir.clock" ] || head -c 56 /dev/zero >"$dir.clock"
    : >"$dir/log"
    LD_PRELOAD=$pawl_build/tests/chaos_clock.so CHAOS_CLOCK=$dir.clock \
        fleet_spawn "$dir/log" redis-server --port "${scene_ports[i]}" --bind 127.0.0.1 --dir "$dir" \
        --save "" --appendonly yes --appendfsync always "$@"
    fleet_wait_line "$dir/log" "[Rr]eady to accept connections"
    fleet_master_pids[i]=$fleet_pid
}

scene_masters() {
    local i
    fleet_masters=()
    for i in 0 1 2; do
        fleet_free_port
        scene_ports[i]=$fleet_port
        scene_master "$i"
        fleet_masters+=(--master "redis://127.0.0.1:$fleet_port")
    done
    fleet_init
}

scene_redis() {
    redis-cli -h 127.0.0.1 -p "$1" "${@:2}" >/dev/null
}

# scene_replica: a replica of master 1 that knows the fleet, and then loses its master: what the master
# gives from now on never reaches it.
scene_replica() {
    local tries
    fleet_free_port
    scene_ports[3]=$fleet_port
    scene_master 3 --replicaof 127.0.0.1 "${scene_ports[0]}"
    for ((tries = 0; tries < 500; tries++)); do
        redis-cli -p "$fleet_port" info replication | grep -q 'master_link_status:up' && break
        sleep 0.02
    done
    scene_redis "$fleet_port" replicaof 127.0.0.1 1
}

# scene_set_clock I MS: the wall clock of that master goes as tests/chaos/clock.h says: the second
# setting is in force from now on.
scene_set_clock() {
    perl -e 'print pack("L x4 q3 q3", 1, 0, 0, 0, $ARGV[0] * 1000, 0, 0)' "$2" 1<>"$fleet_dir/master-$1.clock"
}

# ---- operations ----------------------------------------------------------------------------------

scene_operate() {
    local op=$1 whom=$2 value=$3 i=$(($2 - first_master))
    case $op in
    task)
        WORK_S=$((work_ms[whom] / 1000)).$(printf %03d $((work_ms[whom] % 1000))) \
            WRITE_URL=${write_url[whom]:-$LEDGER_URL} setsid setpriv --pdeathsig KILL -- \
            "$pawl_root/scripts/demo.d/scene_client" "$whom" "$value" </dev/null &
        fleet_adopt $!
        client_pids[whom]=$fleet_pid
        return
        ;;
    work) work_ms[whom]=$value && return ;;
    hold) scene_relay "$value" && write_url[whom]=http://127.0.0.1:$fleet_port && return ;;
    pause) kill -STOP -- "-${client_pids[whom]}" && op=paused ;;
    resume) kill -CONT -- "-${client_pids[whom]}" && op=resumed ;;
    kill) kill -KILL "${fleet_master_pids[i]}" && op=killed ;;
    start) scene_master "$i" && op=started ;;
    clock) scene_set_clock "$i" "$value" ;;
    fail-over)
        kill -KILL "${fleet_master_pids[i]}"
        fleet_stop "${fleet_master_pids[i]}"
        scene_redis "${scene_ports[3]}" replicaof no one
        scene_redis "${scene_ports[3]}" config set port "${scene_ports[i]}"
        op=failed-over
        ;;
    *) die "the scene has a step that this script cannot do: $op" ;;
    esac
    scene_tell "$op" "$whom" "$value"
}

# scene_relay MS: a relay to the ledger whose requests arrive so much later; sets fleet_port.
scene_relay() {
    fleet_free_port
    fleet_spawn "$fleet_dir/relay" node "$pawl_root/scripts/demo.d/relay.mjs" "$fleet_port" \
        "${LEDGER_URL##*:}" "$1"
    fleet_wait_line "$fleet_dir/relay" listening
}

# ---- the scene -----------------------------------------------------------------------------------

# scene_milestones: how many of what steps wait for have happened.
scene_milestones() {
    awk '$2 ~ /^(believes|looked|stale|ended)$/ || ($2 == "accepted" && $5 == 4) { n++ } END { print n + 0 }' "$EVENTS"
}

# scene_wait COUNT AT_MS: until so much has happened, the time has come, and each master that runs votes.
scene_wait() {
    local tries now_ms
    for ((tries = 0; tries < 3000; tries++)); do
        now_ms=$(((${EPOCHREALTIME/[.,]/} - scene_started_us) / 1000))
        if ((now_ms >= $2)) && (($(scene_milestones) >= $1)) && scene_masters_vote; then
            return
        fi
        sleep 0.02
    done
    die "the scene did not come to $1 milestones: $(scene_milestones) in $now_ms ms"
}

scene_masters_vote() {
    curl -sf "$PAWL_URL/v1/fleet" | jq -e '[.masters[] | select(.state != "active" and .reason != "unreachable")] == []' >/dev/null
}

scene_open_account() {
    LEDGER_URL=http://127.0.0.1:1 ACCOUNT_DB=$fleet_dir/account.db
    if [ "$1" = reader-writer ]; then
        sqlite3 -cmd ".load $PAWL_SO" "$ACCOUNT_DB" "PRAGMA journal_mode = WAL" "SELECT pawl_install()" \
            "CREATE TABLE account (balance INTEGER)" "INSERT INTO account VALUES ($opening)" >/dev/null
        return
    fi
    fleet_free_port
    LEDGER_URL=http://127.0.0.1:$fleet_port
    fleet_start_ledger "$fleet_port"
    open_account account-opening >/dev/null # another lock: the tokens of the scene begin at 1
}

# scene_play NAME
scene_play() {
    local at_ms op whom value count
    fleet_begin
    export EVENTS=$fleet_dir/events PAWL_URL LEDGER_URL ACCOUNT_DB PAWL_SO=$pawl_build/storage/pawl TTL_MS=10000 LOOK_S=1.5
    : >"$EVENTS"
    work_ms=(1300 1300 1300) write_url=()
    scene_masters
    [ "$1" != failover ] || scene_replica
    fleet_free_port
    PAWL_URL=http://127.0.0.1:$fleet_port
    fleet_start_pawld "$fleet_port" --audit-log="$fleet_dir/audit"
    scene_open_account "$1"
    scene_started_us=${EPOCHREALTIME/[.,]/}
    tail -n +1 -s 0.1 --pid=$$ -f "$EVENTS" | node "$pawl_root/scripts/demo.d/scene.mjs" tell "$1" "$scene_started_us" &
    while read -r at_ms op whom value count; do
        [ "$op" != end ] || at_ms=0
        scene_wait "$count" "$at_ms"
        [ "$op" = end ] || scene_operate "$op" "$whom" "$value"
    done < <(node "$pawl_root/scripts/demo.d/scene.mjs" steps "$1")
    sleep 0.3 # the teller reads the last lines
    node "$pawl_root/scripts/demo.d/scene.mjs" compare "$1" "$EVENTS" "$fleet_dir/audit"
}
