# shellcheck shell=bash
# What the ways to forget share (ways/). A way defines some of these steps, and ends with `way "$@"`:
#
#     before   while the master is well, before locks are granted that it will forget
#     up       after that, while it runs
#     down     after that, while it is down: it is killed before this step and started after it
#
# A step finds the master's port in $FORGET_PORT, its data folder in $FORGET_DATA, a port where nothing
# listens in $FORGET_SPARE_PORT, and an empty folder in $FORGET_SCRATCH, which stays until the way has ended. A
# process that a step leaves has its id in a file *.pid there, and is killed then. A step that fails ends with
# another status than 0.
set -euo pipefail

# The lock whose holder may be forgotten. A grant of it stands at this master.
# shellcheck disable=SC2034 # of ways
readonly held=pawl:lock:forgetting/held

# way STEP: runs it. way steps: prints the names of those that there are.
way() {
    local step
    if [ "${1:-}" = steps ]; then
        for step in before up down; do
            [ "$(type -t "$step")" != function ] || echo "$step"
        done
        return
    fi
    "$1"
}

# redis WORD...: one command to the master; prints the reply.
redis() {
    redis-cli -e -h 127.0.0.1 -p "$FORGET_PORT" "$@"
}

# wait_info LINE: until INFO has it.
wait_info() {
    local tries
    for ((tries = 0; tries < 400; tries++)); do
        redis INFO all | grep -q "^$1" && return
        sleep 0.05
    done
    echo "INFO does not say $1" >&2
    return 1
}

# used_memory: in bytes.
used_memory() {
    redis INFO memory | tr -d '\r' | sed -n 's/^used_memory://p'
}

# evict POLICY: another user's keys fill the memory, until the lock has gone. Then the limit is lifted. The
# module's locks have no expiry in Redis, so no policy of these chooses them.
evict() {
    local value tries
    if [ "$(redis PTTL "$held")" = -1 ]; then
        echo "the lock has no expiry, so $1 does not choose it" >&2
        return 1
    fi
    value=$(head -c 16384 /dev/zero | tr '\0' x)
    redis CONFIG SET maxmemory $(($(used_memory) + 524288)) maxmemory-policy "$1" >/dev/null
    for ((tries = 0; tries < 40; tries++)); do
        [ "$(redis EXISTS "$held")" = 1 ] || break
        for ((i = 0; i < 100; i++)); do
            echo "SET cache:$tries:$i $value PX 3600000"
        done | redis >/dev/null
    done
    [ "$(redis EXISTS "$held" pawl:fleet)" = 1 ] # the marker is still there
    redis CONFIG SET maxmemory 0 maxmemory-policy noeviction >/dev/null
}

# newest_file: the append-only file that the master writes to.
newest_file() {
    find "$FORGET_DATA/appendonlydir" -name '*.incr.aof' | sort -V | tail -1
}
