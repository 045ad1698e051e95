# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # compare_out: scripts/compare's; fleet_*: fleet.sh's
# Who is compared: its programs, its server, and how it runs a command under a lock. Sourced after
# fleet.sh and debian.sh.

readonly peers=$pawl_build/peers
declare -A server_pid server_port
readonly lease_s=5

is_candidate() {
    [[ $1 =~ ^(pawl|flock|etcdctl|consul)$ ]]
}

# candidate_fetch NAME: whether its programs are there, or could be had.
candidate_fetch() {
    local suite packages package
    case $1 in
    etcdctl) suite=bookworm packages=(etcd-server etcd-client) ;;
    consul) suite=bullseye packages=(consul) ;;
    *) return 0 ;;
    esac
    [ ! -x "$peers/usr/bin/$1" ] || return 0
    say "fetching ${packages[*]} of $suite"
    mkdir -p "$peers/$suite"
    debian_apt "$peers/apt-$suite" "$suite" update >"$compare_out/$1.log" 2>&1 || return 1
    for package in "${packages[@]}"; do
        (cd "$peers/$suite" && debian_apt "$peers/apt-$suite" "$suite" download "$package") \
            >>"$compare_out/$1.log" 2>&1 || return 1
        dpkg-deb -x "$peers/$suite/$package"_*.deb "$peers" || return 1
    done
    rm -rf "$peers/apt-$suite"
    [ -x "$peers/usr/bin/$1" ]
}

# candidate_start NAME: its server, with new data. It serves when this returns.
candidate_start() {
    local name=$1 dir peer_port
    server_port[$name]=
    [ "$name" != flock ] || return 0
    fleet_free_port
    server_port[$name]=$fleet_port
    dir=$(mktemp -d "$fleet_dir/$name-XXXXXX")
    fleet_free_port
    peer_port=$fleet_port
    case $name in
    pawl)
        fleet_masters=(--data "$dir/data")
        fleet_start_pawld "${server_port[pawl]}"
        ;;
    etcdctl)
        fleet_spawn "$dir/log" "$peers/usr/bin/etcd" --data-dir "$dir/data" \
            --listen-client-urls "http://127.0.0.1:${server_port[etcdctl]}" \
            --advertise-client-urls "http://127.0.0.1:${server_port[etcdctl]}" \
            --listen-peer-urls "http://127.0.0.1:$peer_port" \
            --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" \
            --initial-cluster "default=http://127.0.0.1:$peer_port"
        ;;
    consul) consul_start "$dir" "$peer_port" ;;
    esac
    server_pid[$name]=$fleet_pid
    candidate_wait "$name"
}

# consul_start FOLDER PORT
consul_start() {
    local serf_port
    fleet_free_port
    serf_port=$fleet_port
    fleet_spawn "$1/log" "$peers/usr/bin/consul" agent -server -bootstrap-expect=1 -data-dir="$1/data" \
        -bind=127.0.0.1 -client=127.0.0.1 \
        -hcl "ports { http = ${server_port[consul]} dns = -1 grpc = -1 https = -1 server = $2
              serf_lan = $serf_port serf_wan = -1 }"
}

# candidate_wait NAME: until a lock is granted.
candidate_wait() {
    local tries words
    lock_words "$1" "ready$RANDOM"
    for ((tries = 0; tries < 60; tries++)); do
        timeout 5 "${words[@]}" true >/dev/null 2>&1 </dev/null && return
        sleep 0.5
    done
    die "$1 grants no lock"
}

# candidate_stop NAME, candidate_restart NAME: with new data.
candidate_stop() {
    [ -z "${server_pid[$1]:-}" ] || fleet_stop "${server_pid[$1]}"
    server_pid[$1]=
}

candidate_restart() {
    candidate_stop "$1"
    candidate_start "$1"
}

# lock_words NAME LOCK: sets words, to which a command is appended.
lock_words() {
    local port=${server_port[$1]:-}
    case $1 in
    pawl) words=("$pawl_build/bin/pawl" --server "http://127.0.0.1:$port" lock --ttl "${lease_s}s" "$2" --) ;;
    flock) words=(flock "$fleet_dir/$2.flock") ;;
    etcdctl)
        words=(env ETCDCTL_API=3 "$peers/usr/bin/etcdctl" --endpoints "127.0.0.1:$port" lock
            --ttl "$lease_s" "$2")
        ;;
    consul) words=("$peers/usr/bin/consul" lock "-http-addr=127.0.0.1:$port" -shell=false "$2") ;;
    esac
}

# lock_words_now NAME LOCK: the same, not waiting where another one holds it; nothing where there is no
# such option.
lock_words_now() {
    lock_words "$@"
    case $1 in
    pawl) words=("${words[@]:0:4}" -n "${words[@]:4}") ;;
    flock) words=(flock -n "${words[1]}") ;;
    etcdctl) words=() ;;
    consul) words=("${words[@]:0:2}" -timeout=1s "${words[@]:2}") ;;
    esac
}

candidate_version() {
    case $1 in
    pawl) echo "pawl lock ${pawl_version:=$("$pawl_build/bin/pawl" --version | cut -d' ' -f2)}" ;;
    flock) flock --version | sed -E 's/(flock) from (util-linux) (.*)/\1, \2 \3/' ;;
    etcdctl) echo "etcdctl lock $("$peers/usr/bin/etcdctl" version 2>/dev/null | sed -n 's/etcdctl version: //p')" ;;
    consul) "$peers/usr/bin/consul" version | sed -n 's/^Consul v/consul lock /p' ;;
    esac
}
