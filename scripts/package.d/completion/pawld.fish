# Completion of pawld for fish. The program itself says which options it has.

function __pawld_complete
    set -l words (commandline -opc)
    set -l verb
    contains -- "$words[2]" init move; and set verb $words[2]
    test (count $words) -gt 1; or printf '%s\n' init move
    pawld $verb --help 2>/dev/null | string replace -rf '^ {2,6}(?:-., )?(--[a-z-]+)(?:=\S+)?(?: +(\S.*))?$' '$1%%$2' | string replace %% \t
end

complete -c pawld -f -a '(__pawld_complete)'
complete -c pawld -l log-form -x -a 'plain json'
complete -c pawld -l log-level -x -a 'trace debug info warning error'
complete -c pawld -l ask -x -a 'majority spread all'
complete -c pawld -l data -x -a '(__fish_complete_directories)'
for file in config audit-log hand-over keys
    complete -c pawld -l $file -r -F
end
