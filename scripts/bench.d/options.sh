# shellcheck shell=bash
# shellcheck disable=SC2034 # read by scripts/bench and its other parts
# What is asked for on the command line. Sourced after lib.sh.

readonly candidates_known=(module bare minimal relay gathered redlock redlock-ap etcd)
readonly sections_known=(pairs stopped slow waiters overtaking watches readers profile attacked crowded floods groups imports embedded counters tls keys module)

# is_one_of WORD WORD...: whether the first is among the others.
is_one_of() {
    local word
    for word in "${@:2}"; do
        [ "$word" != "$1" ] || return 0
    done
    return 1
}

# number_of OPTION VALUE MIN MAX: ends the script unless VALUE is a whole number from MIN to MAX.
number_of() {
    if ! [[ $2 =~ ^[0-9]{1,9}$ ]] || ((10#$2 < $3 || 10#$2 > $4)); then
        die "$1: '$2' is not a whole number from $3 to $4"
    fi
}

# list_of OPTION VALUE: sets list to what stands between the commas.
list_of() {
    local twice
    [[ $2 =~ ^[^,]+(,[^,]+)*$ ]] || die "$1: '$2' is not a list like A,B"
    IFS=, read -ra list <<<"$2"
    twice=$(printf '%s\n' "${list[@]}" | sort | uniq -d | head -n 1)
    [ -z "$twice" ] || die "$1: '$twice' is there twice"
}

# ---- what can be set -----------------------------------------------------------------------------

rounds=5 seconds=4 warmup=0.5 clients=(1 16 64 256) handovers=1000 waiters=(1 100 11000) overtaken=64 changes=120 watched=1000
imported=(100000 1000000) attack=(2000 15000 64) crowd=(1000 1000 10000) slow_ms=20
only=("${candidates_known[@]}") persistences=(always none) sections=()
given=()

# options_read "$@": sets them.
options_read() {
    local k name
    given=("$@")
    # The others start from what it says, wherever it stands.
    if is_one_of --quick "$@"; then
        rounds=1 seconds=0.6 warmup=0.2 clients=(1 64) handovers=100 waiters=(1 100 1000) overtaken=16 changes=8 watched=100
        imported=(10000) attack=(50 500 16) crowd=(50 50 500)
    fi
    while (($# > 0)); do
        case $1 in
        --rounds | --seconds | --clients | --persistence | --only | --slow-ms)
            (($# > 1)) || die "$1 needs a value; see --help"
            ;;&
        --quick) ;;
        --rounds)
            number_of "$1" "$2" 1 1000
            rounds=$((10#$2))
            shift
            ;;
        --seconds)
            [[ $2 =~ ^[0-9]{1,4}(\.[0-9]{1,3})?$ && $2 =~ [1-9] ]] ||
                die "$1: '$2' is not a number of seconds like 4 or 2.5"
            seconds=$2
            shift
            ;;
        --clients)
            list_of "$1" "$2"
            clients=("${list[@]}")
            for k in "${clients[@]}"; do
                number_of "$1" "$k" 1 4096
            done
            shift
            ;;
        --persistence)
            case $2 in
            always | none) persistences=("$2") ;;
            both) persistences=(always none) ;;
            *) die "$1: '$2' is not always, none or both" ;;
            esac
            shift
            ;;
        --only)
            list_of "$1" "$2"
            only=()
            for name in "${list[@]}"; do
                [ "$name" != pawl ] || continue
                is_one_of "$name" "${candidates_known[@]}" ||
                    die "$1: '$name' is not one of: pawl ${candidates_known[*]}"
                only+=("$name")
            done
            shift
            ;;
        --no-peers) only=(bare minimal relay) ;;
        --slow-ms)
            number_of "$1" "$2" 2 1000
            slow_ms=$((10#$2))
            ((slow_ms % 2 == 0)) || die "$1: '$2' is not an even number; half of it is on each way"
            shift
            ;;
        *)
            is_one_of "$1" "${sections_known[@]}" || die "no such option or section: $1; see --help"
            sections+=("$1")
            ;;
        esac
        shift
    done
    [ ${#sections[@]} -gt 0 ] || sections=("${sections_known[@]}")
    readonly rounds seconds warmup clients handovers waiters changes watched imported attack crowd slow_ms only persistences \
        sections given
}
