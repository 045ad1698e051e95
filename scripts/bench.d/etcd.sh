# shellcheck shell=bash
# shellcheck disable=SC2154 # fleet_dir, fleet_port, fleet_pid: of fleet.sh
# Members of an etcd cluster on loopback, as fleet.sh has Redis masters. Sourced after fleet.sh.

etcd_pids=()
etcd_ports=()   # where clients go
etcd_options=() # the options that name the members: --port PORT ...

# etcd_start COUNT: a new cluster, with etcd's defaults but for the addresses; its data are in the
# folder of the fleet, beside those of the masters.
etcd_start() {
    local count=$1 i dir peer_urls=() cluster
    etcd_pids=() etcd_ports=() etcd_options=()
    for ((i = 0; i < count; i++)); do
        fleet_free_port
        peer_urls+=("http://127.0.0.1:$fleet_port")
        cluster+=${cluster:+,}member$i=${peer_urls[i]}
    done
    for ((i = 0; i < count; i++)); do
        dir=$(mktemp -d "$fleet_dir/etcd-XXXXXX")
        fleet_free_port
        fleet_spawn "$dir/log" etcd --name "member$i" --data-dir "$dir/data" --logger zap \
            --listen-client-urls "http://127.0.0.1:$fleet_port" \
            --advertise-client-urls "http://127.0.0.1:$fleet_port" \
            --listen-peer-urls "${peer_urls[i]}" --initial-advertise-peer-urls "${peer_urls[i]}" \
            --initial-cluster "$cluster" --initial-cluster-state new
        etcd_pids+=("$fleet_pid")
        etcd_ports+=("$fleet_port")
        etcd_options+=(--port "$fleet_port")
    done
    etcd_wait
}

# etcd_wait: until each member, one after the other, has brought a write through the cluster.
etcd_wait() {
    local port tries
    for port in "${etcd_ports[@]}"; do
        for ((tries = 0; tries < 100; tries++)); do
            curl -sf -m 5 -o /dev/null -d '{"key": "cmVhZHk=", "value": ""}' \
                "http://127.0.0.1:$port/v3/kv/put" && continue 2
            sleep 0.1
        done
        die "etcd does not answer on port $port"
    done
}

# etcd_pause: no member does anything, heartbeats included, until etcd_resume.
etcd_pause() {
    kill -STOP "${etcd_pids[@]}"
}

etcd_resume() {
    kill -CONT "${etcd_pids[@]}"
    sleep 1.5 # more than an election takes: all of them woke to a heartbeat that is long overdue
    etcd_wait
}

# etcd_stop: at once. Asked to end, one that has lost the others waits for them, and nobody will read
# its data again.
etcd_stop() {
    local pid
    [ ${#etcd_pids[@]} -gt 0 ] || return 0
    kill -KILL "${etcd_pids[@]}"
    wait "${etcd_pids[@]}" 2>/dev/null || true # where bash says that they were killed
    for pid in "${etcd_pids[@]}"; do
        fleet_stop "$pid"
    done
    etcd_pids=()
}
