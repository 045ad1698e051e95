# shellcheck shell=bash
# A clean Debian 12 in a folder, for tests of what is installed. Sourced after lib.sh or what brings it, by a
# script that sets machine_dir, a folder of its own that it removes.
# shellcheck disable=SC2154 # they are the caller's
# shellcheck source-path=SCRIPTDIR/../../scripts
source "$pawl_root/scripts/debian.sh"

# machine_need: skips the test where no Debian can be made or run in a folder.
machine_need() {
    if [ "$EUID" -ne 0 ] || ! unshare --mount true 2>/dev/null; then
        say "skipped: this needs root, and the right to mount"
        exit 77
    fi
}

# machine_make TAR [MMDEBSTRAP-OPTION...]: the clean Debian, unless the file is there already.
machine_make() {
    local tar=$1
    shift
    [ ! -f "$tar" ] || return 0
    say "making a clean Debian 12"
    debian_root "$machine_dir/root.tar" "$@" || {
        say "skipped: no clean Debian could be made; is there a network?"
        exit 77
    }
    mv "$machine_dir/root.tar" "$tar"
}

# machine_unpack TAR: the root in which machine_run runs, anew.
machine_unpack() {
    machine_root=$machine_dir/root
    rm -rf "$machine_root"
    mkdir "$machine_root"
    tar -C "$machine_root" -xf "$1"
    mkdir "$machine_root/check"
    machine_name=${machine_dir##*/}
    machine_nspawn=(systemd-nspawn --quiet --register=no --keep-unit --machine="$machine_name" -D "$machine_root")
}

# machine_run COMMAND...: in the clean Debian, with the network of this machine.
machine_run() {
    timeout 600 "${machine_nspawn[@]}" --resolv-conf=copy-host --as-pid2 --pipe \
        --setenv=DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# machine_end: what systemd-nspawn leaves where /run is not a file system of its own.
machine_end() {
    rmdir "/run/systemd/nspawn/propagate/${machine_name:-none}" 2>/dev/null || true
}
