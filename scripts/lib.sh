# shellcheck shell=bash
# What the scripts here share. Sourced after `set -euo pipefail`.
# shellcheck disable=SC2034   # the variables are used by those who source this

pawl_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pawl_build=${PAWL_BUILD:-$pawl_root/build}
pawl_layers=(fence storage api server)

# say MESSAGE...: one line of progress, under the name of the script.
say() {
    echo "${0##*/}: $*"
}

# die MESSAGE...: say what is wrong and what to do, and end.
die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# help_if_asked "$@": the help of a script is the comment that it begins with.
help_if_asked() {
    case ${1:-} in
    -h | --help)
        awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"
        exit 0
        ;;
    esac
}

# at_most COUNT "$@": ends the script where it was given more arguments than it takes.
at_most() {
    local count=$1
    shift
    (($# <= count)) || die "does not know '${*:count+1:1}'; see --help"
}

# c_files DIRECTORY...: the C sources and headers below these folders of the project.
c_files() {
    (cd "$pawl_root" && find "$@" -name '*.[ch]' | sort)
}
