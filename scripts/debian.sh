# shellcheck shell=bash
# Packages of any suite of Debian, unpacked and not installed, and a clean Debian. Sourced after lib.sh.

# debian_mirror: where this machine gets its own Debian from.
debian_mirror() {
    # shellcheck disable=SC2016 # apt's own
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -1
}

# debian_apt STATE SUITE ARGUMENT...: apt-get with lists and packages of its own in the folder STATE, as
# on a machine that has none.
debian_apt() {
    local state=$1 suite=$2 keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    shift 2
    mkdir -p "$state/lists/partial" "$state/archives/partial"
    : >"$state/status"
    printf "deb [signed-by=$keyring] $(debian_mirror) %s main\n" bookworm "$suite" >"$state/sources.list"
    [[ $suite == *-backports ]] || sed -i 1d "$state/sources.list"
    apt-get -qq -o Dir::State="$state" -o Dir::State::lists="$state/lists" \
        -o Dir::State::status="$state/status" -o Dir::Cache="$state" \
        -o Dir::Cache::archives="$state/archives" -o Dir::Etc::sourcelist="$state/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o APT::Install-Recommends=false \
        -o APT::Sandbox::User=root "$@"
}

# debian_root TAR [MMDEBSTRAP-OPTION...]: the root file system of a Debian 12 with its required packages, from the
# mirror of this machine. Needs root.
debian_root() {
    local tar=$1 files options status=0
    shift
    mapfile -t files < <(find /etc/apt/sources.list /etc/apt/sources.list.d -type f \
        \( -name '*.list' -o -name '*.sources' \) -exec grep -lw bookworm {} + 2>/dev/null)
    [ ${#files[@]} -gt 0 ] || die "finds no apt source of bookworm in /etc/apt"
    options=$(mktemp)
    apt-config dump | grep '^Acquire::' >"$options" || true
    mmdebstrap --quiet --variant=minbase --aptopt="$options" "$@" bookworm "$tar" "${files[@]}" || status=$?
    rm "$options"
    return "$status"
}
