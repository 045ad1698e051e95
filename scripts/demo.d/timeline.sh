# shellcheck shell=bash
# The timeline that the demonstration and its clients write together.
#
# environment: DEMO_STARTED_US, the instant (microseconds since 1970) that its seconds count from.

# tell WHO TEXT...: one line of it. In colour on a terminal, a colour for each who.
tell() {
    local who=$1 us=$((${EPOCHREALTIME/[.,]/} - ${DEMO_STARTED_US:-${EPOCHREALTIME/[.,]/}}))
    local on='' off=''
    shift
    if [ -t 1 ]; then
        off=$'\e[0m'
        case $who in
        A) on=$'\e[36m' ;;
        B) on=$'\e[33m' ;;
        *) on=$'\e[1m' ;;
        esac
    fi
    printf '%4d.%02d s  %s%-6s%s%s\n' $((us / 1000000)) $((us / 10000 % 100)) "$on" "$who" "$*" "$off"
}
