# shellcheck shell=bash
# Packages of npm that hold programs. Sourced by tests that need a program that Debian 12 does not have.

# npm_unpack PACKAGE FOLDER INNER: the folder INNER of the package becomes FOLDER, if that is not there yet.
# Where npm does not have it, says so on stderr and ends the script with 77.
npm_unpack() {
    local npm_package=$1 npm_into=$2 npm_inner=$3 scratch # a caller may have names that are readonly
    [ ! -d "$npm_into" ] || return 0
    mkdir -p "$(dirname "$npm_into")"
    scratch=$(mktemp -d "$npm_into.XXXXXX")
    if ! (cd "$scratch" && npm pack --silent "$npm_package" >/dev/null 2>&1 && tar -xzf ./*.tgz); then
        rm -rf "$scratch"
        echo "skipped: npm does not have $npm_package, or there is no npm" >&2
        exit 77
    fi
    chmod -R a+rX "$scratch"
    mv -T "$scratch/$npm_inner" "$npm_into" 2>/dev/null || true # another run may have been first
    rm -rf "$scratch"
}
