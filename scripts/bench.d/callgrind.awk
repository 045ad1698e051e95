# The instructions of each part of a program, from what valgrind's callgrind wrote: a line of JSON
# each. A part is a folder of the project, a library, or one of the heavy trades of libc.
#
# variables: root, the project's folder with a slash at its end; pairs, what to divide by.

# Names are written out once, as "(1) name", and called (1) from then on; a called function's names
# (cob, cfi, cfl, cfn) count as well. Objects, files and functions are numbered apart.
function name_of(kind, text,    number, space) {
    space = index(text, " ")
    number = space ? substr(text, 1, space - 1) : text
    if (space)
        names[kind, number] = substr(text, space + 1)
    return names[kind, number]
}

function part_of(object, file, called,    part) {
    if (index(file, root) == 1) {
        part = substr(file, length(root) + 1)
        sub(/\/.*/, "", part)
        return part
    }
    part = object
    sub(/.*\//, "", part)
    sub(/\.so.*/, "", part)
    if (part != "libc")
        return part
    if (called ~ /memset/)
        return "libc, memset"
    if (called ~ /alloc|free|unlink_chunk/)
        return "libc, malloc"
    if (called ~ /printf|^_IO_|itoa/)
        return "libc, printf"
    return "libc, rest"
}

/^ob=/ { object = name_of("object", substr($0, 4)); next }
/^fl=/ { file = name_of("file", substr($0, 4)); next }
/^fn=/ { called = name_of("function", substr($0, 4)); next }
/^cob=/ { name_of("object", substr($0, 5)); next }
/^(cfi|cfl)=/ { name_of("file", substr($0, 5)); next }
/^cfn=/ { name_of("function", substr($0, 5)); next }
/^(fi|fe)=/ { name_of("file", substr($0, 4)); next } # inlined from there: belongs to who inlined it
/^calls=/ { getline; next } # the line after it is what the called function cost
/^[0-9+*-]/ { cost[part_of(object, file, called)] += $2 }

END {
    for (part in cost)
        if (cost[part] >= pairs)
            printf "{\"part\":\"%s\",\"per_pair\":%.0f}\n", part, cost[part] / pairs
}
