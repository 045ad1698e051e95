# Puts the options that --help describes into a man page: a line "@OPTIONS pawld init@" becomes the list
# of what "pawld init --help" prints.
#
#     awk -v bin=build/bin -f options.awk pawld.8.in

function text_of(line) {
    gsub(/\\/, "\\e", line)
    return line
}

# A sentence a line, as mdoc wants it.
function print_text(text,    n, i, sentences) {
    gsub(/\. /, ".\n", text)
    n = split(text, sentences, "\n")
    for (i = 1; i <= n; i++)
        if (sentences[i] != "")
            print (sentences[i] ~ /^[.']/ ? "\\&" : "") text_of(sentences[i])
}

function print_option(    parts) {
    if (name == "")
        return
    split(name, parts, "=")
    print ".It Fl -" parts[1] (parts[2] != "" ? " Ns = Ns Ar " parts[2] : "")
    print_text(help)
    name = ""
    help = ""
}

function print_options(program,    command, line, rest, indent) {
    command = bin "/" program " --help"
    print ".Bl -tag -width Ds"
    while ((command | getline line) > 0) {
        indent = match(line, /[^ ]/) - 1 # an option's is small, that of its text is large
        if (indent < 10 && line ~ /^ +(-[?V], )?--[a-z]/) {
            print_option()
            sub(/^ +(-[?V], )?--/, "", line)
            name = line
            sub(/ .*/, "", name)
            rest = line
            sub(/^[^ ]+ */, "", rest)
            help = rest
        } else if (name != "" && indent > 20) {
            sub(/^ +/, "", line)
            help = help (help == "" ? "" : " ") line
        } else if (line !~ /^ /) {
            print_option()
        }
    }
    close(command)
    print_option()
    print ".El"
}

/^@OPTIONS .*@$/ {
    gsub(/^@OPTIONS |@$/, "")
    print_options($0)
    next
}

{ print }
