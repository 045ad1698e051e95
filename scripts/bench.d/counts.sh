# shellcheck shell=bash
# shellcheck disable=SC2154 # fleet_master_urls, pawld_port: of fleet.sh and candidates.sh
# What the masters were asked, and what pawld counts. Both only grow, so each is read before a run and
# after it. (CONFIG RESETSTAT would look to pawld as if a master had lost its memory.) Sourced after
# candidates.sh.

# masters_counts: prints how often each command ran on all masters together, within scripts or not, as
# {"evalsha":...,"get":...}.
masters_counts() {
    local url
    for url in "${fleet_master_urls[@]}"; do
        redis-cli -p "${url##*:}" INFO commandstats
    done | tr -d '\r' | sed -nE 's/^cmdstat_([a-z|]+):calls=([0-9]+),.*/\1 \2/p' |
        jq -cnR 'reduce (inputs / " ") as [$name, $calls] ({}; .[$name] += ($calls | tonumber))'
}

# pawld_counts: prints {"grants":...,"hedges":...}, of which a pawld that does not count one has null.
pawld_counts() {
    curl -sf -m 5 "http://127.0.0.1:$pawld_port/v1/fleet" |
        jq -c '{grants, hedges} | map_values(if type == "number" then . else null end)' ||
        die "pawld does not say what it counts"
}

# grown BEFORE AFTER: the difference of two such objects, member by member.
grown() {
    jq -nc --argjson before "$1" --argjson after "$2" '
        $after | to_entries
        | map(.key as $key | .value |= if . == null then null else . - ($before[$key] // 0) end)
        | from_entries'
}
