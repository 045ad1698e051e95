# One line for each family of a text in the format of Prometheus: name, type, help, the names of its
# labels (without le), and the program, with tabs between.
/^# HELP / { help[$3] = substr($0, length($1) + length($2) + length($3) + 4) }
/^# TYPE / { family = $3; type[family] = $4; order[++count] = family }
/^[^#]/ {
    if (!match($0, /\{.*\}/))
        next
    labels = substr($0, RSTART + 1, RLENGTH - 2)
    while (match(labels, /^,?[a-z_]+="[^"]*"/)) {
        name = substr(labels, 1, RLENGTH)
        labels = substr(labels, RLENGTH + 1)
        gsub(/^,|=.*/, "", name)
        if (name != "le" && !((family, name) in seen)) {
            seen[family, name] = 1
            names[family] = names[family] (names[family] == "" ? "" : ",") name
        }
    }
}
END {
    for (i = 1; i <= count; i++)
        printf "%s\t%s\t%s\t%s\t%s\n", order[i], type[order[i]], help[order[i]], names[order[i]], program
}
