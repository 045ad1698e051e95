# shellcheck shell=bash
# The packages of npm that tests use (scripts/npm.txt). scripts/setup fetches them into build/npm, 300 MB.
# A test looks there, and is skipped where its package is missing: nothing is fetched while a test runs.
# Sourced after `set -euo pipefail`; brings lib.sh along.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

npm_folder=$pawl_root/build/npm

# npm_list: a line for each package, NAME VERSION FOLDER PACKAGE.
npm_list() {
    grep -v '^#' "$pawl_root/scripts/npm.txt"
}

# npm_place NAME: the folder of this package. Where it is missing, says so on stderr and ends with 77.
npm_place() {
    local place
    place=$npm_folder/$1-$(npm_list | awk -v name="$1" '$1 == name { print $2 }')
    if [ ! -d "$place" ]; then
        echo "skipped: ${place##*/} of npm is not there: scripts/setup fetches it" >&2
        exit 77
    fi
    echo "$place"
}

# npm_fetch_one NAME VERSION FOLDER PACKAGE: into its place. npm waits for no network for long.
npm_fetch_one() {
    local place=$npm_folder/$1-$2 inner=$3 scratch status=0
    local options=(--silent --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=1000)
    mkdir -p "$npm_folder"
    scratch=$(mktemp -d "$place.XXXXXX")
    if [ "$inner" = - ]; then
        inner=
        npm install "${options[@]}" --prefix "$scratch" --ignore-scripts --no-audit --no-fund "$4@$2" >/dev/null || status=1
    else
        (cd "$scratch" && npm pack "${options[@]}" "$4@$2" >/dev/null && tar -xzf ./*.tgz) || status=1
    fi
    if [ $status -eq 0 ]; then
        chmod -R a+rX "$scratch"
        mv -T "$scratch${inner:+/$inner}" "$place" 2>/dev/null || true # another run may have been first
    fi
    rm -rf "$scratch"
    return $status
}

# npm_fetch: those that are missing. Where npm cannot fetch one, says which, asks for no more, and is content.
npm_fetch() {
    local name version rest
    while read -r name version rest; do
        [ ! -d "$npm_folder/$name-$version" ] || continue
        # A node that has node:sqlite itself needs no other.
        ! [ "$name" = node ] || ! node -e 'require("node:sqlite")' >/dev/null 2>&1 || continue
        say "fetching $name $version by npm"
        # shellcheck disable=SC2086 # words
        if ! npm_fetch_one "$name" "$version" $rest </dev/null; then
            say "npm cannot fetch $name $version: tests that need packages of npm will be skipped"
            return
        fi
    done < <(npm_list)
}
