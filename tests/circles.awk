# Reads all sources of libpack and prints each #include that is part of a circle of modules.
# A module is a .c and its .h; a header without a .c is part of the .c whose name it begins
# with ("procs_parts.h": of procs.c), else a module by itself. Exits with 1 when there are any.
function stem(file) {
    sub(/.*\//, "", file)
    sub(/\.[ch]$/, "", file)
    return file
}
function module(name,    s) {
    for (s = name; !(s in has_code); )
        if (!sub(/_[^_]*$/, "", s))
            return name
    return s
}
# Follows what `at` includes, as far as it leads to modules not yet met.
function visit(at,    i) {
    met[at] = 1
    for (i = 1; i <= n_next[at]; i++)
        if (!(next_of[at, i] in met))
            visit(next_of[at, i])
}
BEGIN {
    for (i = 1; i < ARGC; i++)
        if (ARGV[i] ~ /\.c$/)
            has_code[stem(ARGV[i])] = 1
}
FNR == 1 { self = module(stem(FILENAME)) }
/^# *include "libpack\// {
    name = $0
    sub(/^[^"]*"/, "", name)
    sub(/".*/, "", name)
    other = module(stem(name))
    if (other == self)
        next
    n++
    from[n] = self
    to[n] = other
    text[n] = FILENAME " includes " name
    next_of[self, ++n_next[self]] = other
}
END {
    for (i = 1; i <= n; i++) {
        split("", met)
        visit(to[i])
        if (from[i] in met) {
            print text[i]
            bad = 1
        }
    }
    exit bad
}
