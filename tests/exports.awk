# The names of the functions that headers declare: what the shared library shows.
{
    sub(/\/\*.*\*\//, "")
    if (/\/\*/)
        comment = 1
    if (!comment && !/^(#|static| \*)/) {
        line = $0
        while (match(line, /pack_[a-z0-9_]+\(/)) {
            print substr(line, RSTART, RLENGTH - 1)
            line = substr(line, RSTART + RLENGTH)
        }
    }
    if (/\*\//)
        comment = 0
}
