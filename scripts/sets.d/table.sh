# shellcheck shell=bash
# The table of scripts/sets: reads the lines of JSON of all runs.

table() {
    jq -rs '
        "| way | elements lost, each run | lost | acknowledged | refused by the guard | failed acquires |",
        "|---|---|---|---|---|---|",
        (group_by(.way) | sort_by(map(.order) | min)[]
            | "| \(.[0].way) | \(map(.lost | tostring) | join(", ")) | \(map(.lost) | add) | \(map(.acknowledged) | add) | \(map(.refused) | add) | \(map(.unavailable) | add) |")'
}
