# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # sets_*: scripts/sets'; etcd_*: etcd.sh; fleet_*: fleet.sh
# The services of each way, and the links by which the clients of a site reach them. Sourced after fleet.sh
# and etcd.sh.

readonly sites=3 masters=3
servers=()      # the processes that a fault of a server may strike
site_ports=()   # of each site: where its clients reach the service, apart by spaces
site_links=()   # of each site: the processes of its links
lag_pids=()     # redisson: the links by which a replica follows each server, ...
lag_ports=()    # ... and where they listen

# way_kind WAY, way_guarded WAY: a way is the name of a lock, and -guard where the guard stands at the sets.
way_kind() {
    echo "${1%-guard}"
}

way_guarded() {
    [[ $1 = *-guard ]]
}

# link_start PORT: a link to it, where fleet_port then listens.
link_start() {
    local log
    log=$(mktemp "$fleet_dir/link-XXXXXX.log")
    fleet_spawn "$log" "$pawl_build/bench/pawl-bench-proxy" --to "$1"
    fleet_wait_line "$log" '^[0-9]+$'
    fleet_port=$(cat "$log")
}

# sites_link all|one PORT...: links from each site to all of these ports, or to one of them.
sites_link() {
    local how=$1 site port ports=("${@:2}") mine
    site_ports=() site_links=()
    for ((site = 0; site < sites; site++)); do
        mine=("${ports[@]}")
        [ "$how" = all ] || mine=("${ports[site % ${#ports[@]}]}")
        for port in "${mine[@]}"; do
            link_start "$port"
            site_ports[site]+="$fleet_port "
            site_links[site]+="$fleet_pid "
        done
    done
}

serve_pawl() {
    local i ports=()
    fleet_start_masters "$masters" always
    fleet_init
    servers=("${fleet_master_pids[@]}")
    for i in 1 2; do
        fleet_free_port
        ports+=("$fleet_port")
        fleet_start_pawld "$fleet_port"
        servers+=("$fleet_pid")
    done
    sites_link one "${ports[@]}"
}

serve_etcd() {
    etcd_start "$masters"
    servers=("${etcd_pids[@]}")
    sites_link one "${etcd_ports[@]}"
}

serve_redlock() {
    fleet_start_masters "$masters" always
    servers=("${fleet_master_pids[@]}")
    sites_link all "${fleet_master_urls[@]##*:}"
}

# One Redis and its replica, both durable. $current has the number of the one that is master.
serve_redisson() {
    local i
    fleet_start_masters 2 always --repl-diskless-sync-delay 0
    servers=("${fleet_master_pids[@]}")
    for i in 0 1; do
        link_start "${fleet_master_urls[i]##*:}"
        lag_pids[i]=$fleet_pid lag_ports[i]=$fleet_port
    done
    echo 0 >"$current"
    redis_follow 1 0
    sites_link all "${fleet_master_urls[@]##*:}"
}

redis_say() {
    redis-cli -p "${fleet_master_urls[$1]##*:}" "${@:2}" >/dev/null 2>&1
}

# redis_follow REPLICA MASTER: until it has a copy.
redis_follow() {
    local tries
    redis_say "$1" REPLICAOF 127.0.0.1 "${lag_ports[$2]}"
    for ((tries = 0; tries < 100; tries++)); do
        redis-cli -p "${fleet_master_urls[$1]##*:}" INFO replication | grep -q 'master_link_status:up' && return
        sleep 0.05
    done
}

# way_start WAY, way_stop: all processes of a way.
way_start() {
    lag_pids=() lag_ports=() current=$fleet_dir/current
    "serve_$(way_kind "$1")"
}

way_stop() {
    local i
    for ((i = ${#fleet_pids[@]} - 1; i >= 0; i--)); do
        kill -KILL -- "-${fleet_pids[i]}" 2>/dev/null || true
    done
    wait 2>/dev/null || true
    fleet_pids=() etcd_pids=()
}
