# Completion of pawl for fish. The program itself says which verbs and options it has. What stands after
# the lock's name is a command, and is completed as one.

set -g __pawl_valued --server --key-file --ca-file --cert --cert-key --wait -w --ttl --exit-code -E --why \
    --signal --kill-after --until --permits --delay --at-least

# The place of the verb among the words before the cursor; 0 where none was said yet.
function __pawl_verb_at
    set -l words (commandline -opc)
    set -l skipped 0
    for i in (seq 2 (count $words))
        if test $skipped = 1
            set skipped 0
        else if contains -- $words[$i] $__pawl_valued
            set skipped 1
        else if not string match -q -- '-*' $words[$i]
            echo $i
            return
        end
    end
    echo 0
end

# The place of the command of pawl lock, pawl semaphore or pawl rwlock; 0 while the lock's own words are said.
function __pawl_command_at --argument-names verb_at
    set -l words (commandline -opc)
    set -l skipped 0
    set -l named 0
    set -l all 0
    set -l mode_due 0
    test "$words[$verb_at]" = rwlock; and set mode_due 1
    for i in (seq (math $verb_at + 1) (count $words))
        if test $skipped = 1
            set skipped 0
        else if test "$words[$i]" = --
            echo (math $i + 1)
            return
        else if contains -- $words[$i] $__pawl_valued
            set skipped 1
        else if test "$words[$i]" = --all
            set all 1
        else if not string match -q -- '-*' $words[$i]
            if test $mode_due = 1
                set mode_due 0
                continue
            end
            if test $named = 1 -a $all = 0
                echo $i
                return
            end
            set named 1
        end
    end
    # The command comes next.
    if test $named = 1 -a $all = 0
        echo (math (count $words) + 1)
    else
        echo 0
    end
end

function __pawl_verbs
    pawl help 2>/dev/null | string replace -rf '^  pawl ([a-z]+).*?  +(\S.*)$' '$1%%$2' | string replace %% \t
end

function __pawl_options
    pawl $argv --help 2>/dev/null | string replace -rf '^ {2,6}(?:-., )?(--[a-z-]+)(?:=\S+)? +(\S.*)$' '$1%%$2' | string replace %% \t
end

function __pawl_complete
    set -l verb_at (__pawl_verb_at)
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    if test $verb_at = 0
        __pawl_verbs
        __pawl_options
        return
    end
    set -l verb $words[$verb_at]
    if contains -- "$verb" lock semaphore rwlock
        set -l command_at (__pawl_command_at $verb_at)
        if test $command_at -gt 0
            if test $command_at -gt (count $words); and string match -q -- '-*' $word
                __pawl_options $verb
            else
                complete -C (string join ' ' -- (string escape -- $words[$command_at..]) $word)
            end
            return
        end
    end
    switch $verb
        case help
            __pawl_verbs
        case key
            echo new
        case guard
            printf '%s\n' sql check postgresql mariadb sqlite
        case rwlock
            contains -- read $words; or contains -- write $words; or printf '%s\n' read write
        case counter
            printf '%s\n' next show list
    end
    __pawl_options $verb
end

complete -c pawl -f -a '(__pawl_complete)'
for file in key-file ca-file cert cert-key file
    complete -c pawl -l $file -r -F
end
complete -c pawl -l until -x -a 'free held'
complete -c pawl -l signal -x -a 'TERM INT HUP QUIT USR1 USR2 KILL'
