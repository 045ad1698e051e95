# shellcheck shell=bash
# shellcheck disable=SC2154 # of scripts/bench and fleet.sh
# What is shown of the runs: machine, versions, commands, tables, and the picture.

# print_report: all of it, as text.
print_report() {
    print_machine
    print_versions
    echo "run as    scripts/bench ${given[*]}"
    echo "commands  pawl-bench-load, pawl-bench-bare, pawl-bench-etcd and redlock/bench.mjs," \
        "each with"
    echo "          --connections K --names $names --seconds $seconds --warmup $warmup"
    echo "rounds    $rounds, of which the median"
    jq -rs -L "$pawl_root/scripts/bench.d" --argjson cores "$(nproc)" \
        -f "$pawl_root/scripts/bench.d/tables.jq" "$runs"
}

print_machine() {
    local cpu memory
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    memory=$(free -h | awk '/^Mem:/ { print $2 }')
    echo "date      $(date -u +'%Y-%m-%d %H:%M UTC')"
    echo "machine   $(nproc) x ${cpu:-$(uname -m)}, $memory memory," \
        "$(stat -f -c %T "$fleet_dir") on ${TMPDIR:-/tmp}, Linux $(uname -r)"
    echo "load      $load_before before this ran: what else ran here shows in the numbers"
}

print_versions() {
    local package=$bench_out/redlock/node_modules
    echo "versions  $("$pawl_build/bin/pawld" --version | head -n 1)," \
        "source $(git -C "$pawl_root" describe --always --dirty 2>/dev/null || echo unknown)," \
        "$(redis-server --version | awk '{ print "Redis", $3 }')"
    wants_candidates && candidates_peers || return 0
    echo "          $(etcd --version | awk 'NR == 1 { print "etcd", $3 }')," \
        "redlock $(jq -r .version "$package/redlock/package.json")," \
        "ioredis $(jq -r .version "$package/ioredis/package.json"), node $(node --version)"
}

# draw_picture: of the pairs, in report.svg.
draw_picture() {
    if ! command -v node >/dev/null; then
        say "no node: the picture is left out"
        return
    fi
    jq -s -L "$pawl_root/scripts/bench.d" 'include "runs"; medians("pairs")' "$runs" |
        node "$pawl_root/scripts/bench.d/picture.mjs" \
            "$(nproc) cores, five servers, clients on the same machine, $(date -u +%Y-%m-%d)" \
            >"$bench_out/report.svg"
    say "its picture is in $bench_out/report.svg"
}
