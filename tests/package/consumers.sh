# shellcheck shell=bash
# What the tests of packages share: programs of others, built against an installed Pawl, and a pawld for
# them. Sourced after `set -euo pipefail`; brings scripts/fleet.sh along, which needs curl.
# shellcheck source-path=SCRIPTDIR/../../scripts
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/fleet.sh"

consumers=$pawl_root/tests/package/consumers
warnings=(-Wall -Wextra -Wpedantic -Werror)

# build_by_pkg_config FOLDER: client_c, client_cpp, guard_c and guard_cpp, into FOLDER.
build_by_pkg_config() {
    local folder=$1 program package
    mkdir -p "$folder"
    for program in client guard; do
        package=pawl
        [ "$program" = client ] || package=pawl-guard
        # shellcheck disable=SC2046 # words
        gcc -std=c99 "${warnings[@]}" -o "$folder/${program}_c" "$consumers/$program.c" \
            $(pkg-config --cflags --libs "$package")
        # shellcheck disable=SC2046 # words
        g++ -std=c++17 "${warnings[@]}" -o "$folder/${program}_cpp" "$consumers/$program.cpp" \
            $(pkg-config --cflags --libs "$package")
    done
}

# build_by_find_package FOLDER [CMAKE-OPTION...]: the same, and each once more with the static library.
build_by_find_package() {
    local folder=$1
    shift
    cmake -S "$consumers" -B "$folder" -G Ninja --log-level=WARNING "$@" \
        -D CMAKE_C_FLAGS="${warnings[*]}" -D CMAKE_CXX_FLAGS="${warnings[*]}"
    cmake --build "$folder" >"$folder/log" || { cat "$folder/log" && die "find_package: not built"; }
}

# run_consumers FOLDER: each of them. PAWL_SERVER has the server.
run_consumers() {
    local folder=$1 program token last=0
    for program in "$folder"/guard_*; do
        "$program" "$(mktemp -u "$folder/db-XXXXXX")" || die "$program failed"
    done
    for program in "$folder"/client_c*; do
        token=$("$program") || die "$program failed"
        ((token > last)) || die "$program: token $token is not above $last"
        last=$token
    done
}
