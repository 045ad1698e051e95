# shellcheck shell=bash
# Calls over HTTP, for the demonstration's clients.

# call METHOD URL [CURL-OPTION...]: sets status and body to what was answered.
call() {
    local method=$1 url=$2
    shift 2
    body=$(curl -sS -X "$method" -w '\n%{http_code}' "$@" "$url")
    status=${body##*$'\n'}
    body=${body%$'\n'*}
}

# call_again CALL...: the same, repeated for two seconds where pawld says 503: unknown, try again. A disk
# that is busy for a moment is enough for that.
call_again() {
    local tries
    for ((tries = 0; tries < 10; tries++)); do
        call "$@"
        [ "$status" = 503 ] || return 0
        sleep 0.2
    done
}

# field NAME: a member of the JSON in the body.
field() {
    jq -r ".$1" <<<"$body"
}
