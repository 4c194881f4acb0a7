# Prints FILE:LINE: TEXT for each string of C sources, whatever comments say.
FNR == 1 { in_comment = 0 }
{
    rest = $0
    while (rest != "") {
        if (in_comment) {
            at = index(rest, "*/")
            if (!at)
                break
            in_comment = 0
            rest = substr(rest, at + 2)
        } else if (match(rest, /"([^"\\]|\\.)*"|\/\*|'"'|\/\//)) {
            found = substr(rest, RSTART, RLENGTH)
            rest = substr(rest, RSTART + RLENGTH)
            if (found == "/*")
                in_comment = 1
            else if (found == "//")
                break
            else if (substr(found, 1, 1) == "\"")
                print FILENAME ":" FNR ": " substr(found, 2, length(found) - 2)
        } else {
            break
        }
    }
}
