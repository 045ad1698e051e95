# shellcheck shell=bash
# The commands of a page, cut up and pasted into a shell one after the other, as somebody does who reads it.
# Sourced after lib.sh, by a script that sets:
#
#   page     the page, from the root of the project
#   folder   for N.command, N.line, N.answer and N.output of each command
# shellcheck disable=SC2154 # they are the caller's

# units: writes the commands to $folder/N.command, their lines to N.line and the answers to N.answer.
units=0
cut_up() {
    local line number=0 pasted=false text='' last=none
    while IFS= read -r line; do
        number=$((number + 1))
        case $line in
        '```sh') pasted=true last=none ;;
        '```'*) pasted=false ;;
        *)
            $pasted || continue
            if [[ $line == '# '* ]] && [ -z "$text" ]; then
                [ $last = none ] || echo "${line#\# }" >>"$folder/$units.answer"
                continue
            fi
            if [ -z "$line" ] && [ -z "$text" ]; then
                last=none
                continue
            fi
            text+=$line$'\n'
            complete "$text" || continue
            units=$((units + 1)) last=command
            printf '%s' "$text" >"$folder/$units.command"
            echo "$number" >"$folder/$units.line"
            text=''
            ;;
        esac
    done <"$pawl_root/$page"
    [ -z "$text" ] || die "$page: a command has no end: $text"
    [ $units -gt 0 ] || die "$page has no commands"
}

# Whether the text is a whole command, and the shell would run it.
complete() {
    [[ $1 != *\\$'\n' ]] && bash -n <<<"$1" 2>/dev/null
}

# pattern FILE: a regular expression for an answer.
pattern() {
    sed -E -e 's/[][\.*^$+?(){}|\\]/\\&/g' -e 's/\\\.\\\.\\\./.*/g' \
        -e 's/("[a-z_]*(validity|served|remaining|retry_after|at)_ms":)[0-9]+/\1[0-9]+/g' \
        -e 's/("lock_id":)"[^"]*"/\1"[^"]*"/g' "$1"
}

# fail UNIT WHAT: shows what was pasted and what was answered.
fail() {
    echo "$page:$(cat "$folder/$1.line"): $2"
    sed 's/^/    /' "$folder/$1.command"
    echo "answered:"
    sed 's/^/    /' "$folder/$1.output"
    echo
    exit 1
}

judge() {
    local unit=$1 status=$2 output
    [ "$status" -eq 0 ] || fail "$unit" "ended with status $status"
    output=$(cat "$folder/$unit.output")
    if [ -e "$folder/$unit.answer" ]; then
        [[ $output =~ ^$(pattern "$folder/$unit.answer")$ ]] ||
            fail "$unit" "another answer than $(cat "$folder/$unit.answer")"
    elif [[ $output == *urn:pawl:* ]]; then
        fail "$unit" "was refused"
    fi
}

# In this shell, so that its variables and jobs stay.
paste() {
    local status
    set +eu
    # shellcheck source=/dev/null
    source "$1"
    status=$?
    set -eu
    return $status
}
